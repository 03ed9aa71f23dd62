// SPDX-License-Identifier: Apache-2.0
#include "worker/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>

#include "base/files.h"
#include "base/owned.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr std::string_view kPrefix = "roofmark-";
constexpr uint64_t kMemoryFactor = 4;
constexpr uint64_t kSpareProcesses = 64;
constexpr int kPatienceMs = 200;
constexpr const char* kMount = "/sys/fs/cgroup";

bool Write(const fs::path& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Where this process is in each hierarchy: "<id>:<controllers>:<path>", controllers empty in
// version 2 (cgroups(7)).
std::vector<fs::path> OwnGroups() {
  std::vector<fs::path> groups;
  const Result<std::string> text = ReadFile("/proc/self/cgroup");
  for (const std::string_view line : Split(text ? std::string_view(*text) : "", '\n')) {
    const auto fields = Split(line, ':');
    if (fields.size() < 3) continue;
    const std::string_view controllers = fields[1];
    const std::string path(line.substr(fields[0].size() + controllers.size() + 2));
    if (controllers.empty()) {
      groups.emplace_back(kMount + path);
    } else if (controllers == "pids" || controllers == "memory") {
      groups.emplace_back(fmt::format("{}/{}{}", kMount, controllers, path));
    }
  }
  return groups;
}

// Three quarters: the rest is for the judge and whoever else is here.
uint64_t MostOfMemory() {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 4 * 3;
}

// rmdir refuses groups that hold a process, so only abandoned ones go.
void RemoveAbandoned(const fs::path& parent) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with(kPrefix)) found.push_back(it->path());
  }
  for (const fs::path& folder : found) ::rmdir(folder.c_str());
}

}  // namespace

Cgroup Cgroup::Make(const SandboxSpec& spec) {
  static std::atomic<int> number = 0;
  Cgroup cgroup;
  for (const fs::path& parent : OwnGroups()) {
    RemoveAbandoned(parent);
    Group group;
    group.folder = parent / fmt::format("{}{}-{}", kPrefix, ::getpid(), ++number);
    if (::mkdir(group.folder.c_str(), 0755) != 0) continue;
    // Several times what one process may hold: a worker, its shared tensors, and compilers.
    const std::string bytes =
        std::to_string(std::min(kMemoryFactor * spec.data_bytes, MostOfMemory()));
    // The limit of the user comes first where it binds: a fork that it refuses costs much less.
    const std::string processes = std::to_string(spec.processes + kSpareProcesses);
    if (spec.processes > 0 && Write(group.folder / "pids.max", processes)) {
      group.limits.emplace_back("pids");
    }
    if (spec.data_bytes > 0 && (Write(group.folder / "memory.max", bytes) ||
                                Write(group.folder / "memory.limit_in_bytes", bytes))) {
      group.limits.emplace_back("memory");
    }
    group.processes = Fd(::open((group.folder / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (group.limits.empty() || !group.processes.valid()) {
      ::rmdir(group.folder.c_str());
      continue;
    }
    cgroup.groups_.push_back(std::move(group));
  }
  return cgroup;
}

Cgroup::Cgroup(Cgroup&& other) noexcept : groups_(std::move(other.groups_)) {
  other.groups_.clear();
}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(groups_, other.groups_);
  return *this;
}

Cgroup::~Cgroup() {
  for (const Group& group : groups_) {
    // The last of its processes may still be on its way out.
    for (int i = 0; ::rmdir(group.folder.c_str()) != 0 && errno == EBUSY && i < kPatienceMs; ++i) {
      ::usleep(1000);
    }
  }
}

void Cgroup::Enter() const {
  for (const Group& group : groups_) (void)!::write(group.processes.get(), "0", 1);
}

std::string Cgroup::Describe() const {
  std::vector<std::string> limits;
  for (const Group& group : groups_) {
    limits.insert(limits.end(), group.limits.begin(), group.limits.end());
  }
  if (limits.empty()) return {};
  std::ranges::sort(limits, std::greater<>());
  return fmt::format("cgroup ({})", Join(limits, ", "));
}

}  // namespace roofmark::worker
