// SPDX-License-Identifier: Apache-2.0
#include "worker/cpu_sampler.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <system_error>
#include <tuple>

#include "base/files.h"
#include "base/memory_maps.h"
#include "base/owned.h"
#include "base/text.h"
#include "worker/own_files.h"

namespace roofmark::worker {
namespace {

constexpr int64_t kPeriodNs = 50'000;
// Under this many samples outside the C library, adoption says nothing.
constexpr int64_t kFewestOutsideLibrary = 10;
constexpr size_t kPage = 4096;
constexpr size_t kDataPages = 64;  // a power of two, as the kernel asks

struct Mapping {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string path;
  FileIdentity identity;
};

// Nothing for what is not executable.
std::optional<Mapping> ParseMapping(std::string_view line) {
  const std::optional<MappedRange> range = ParseMapsLine(line);
  if (!range || range->permissions[2] != 'x') return std::nullopt;
  return Mapping{.begin = range->begin,
                 .end = range->end,
                 .path = range->path.empty() ? kAnonymousCode : std::string(range->path),
                 .identity = IdentityIn(*range)};
}

// Paths as the process itself sees them: in a chroot its new root is a folder below this one's.
std::vector<Mapping> ReadMappings(pid_t pid) {
  std::vector<Mapping> mappings;
  std::error_code error;
  std::string root = fs::read_symlink(fmt::format("/proc/{}/root", pid), error).string();
  if (error || root == "/") root.clear();
  const Result<std::string> text = ReadFile(fmt::format("/proc/{}/maps", pid));
  if (!text) return mappings;
  for (const std::string_view line : Split(*text, '\n')) {
    auto mapping = ParseMapping(line);
    if (!mapping) continue;
    if (!root.empty() && mapping->path.starts_with(root + "/")) mapping->path.erase(0, root.size());
    mappings.push_back(std::move(*mapping));
  }
  return mappings;
}

// The worker's executable, where it is the judge's own: an interpreter is no harness.
std::string ExecutableOf(pid_t pid) {
  std::error_code error;
  const fs::path path = fs::read_symlink(fmt::format("/proc/{}/exe", pid), error);
  const std::string name = path.filename().string();
  const bool ours = !error && (name.starts_with("roofmark") || name.ends_with("_test"));
  return ours ? path.string() : std::string();
}

ObjectOwner OwnerOf(const std::pair<std::string, OwnFile>& object, const std::string& own_library,
                    const std::string& harness) {
  return OwnerOfObject(object.first, object.second, own_library, harness);
}

bool ContainsAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return text.find(part) != text.npos; });
}

}  // namespace

struct CpuSampler::Thread {
  Fd fd;
  void* ring = MAP_FAILED;
  ~Thread() {
    if (ring != MAP_FAILED) ::munmap(ring, (kDataPages + 1) * kPage);
  }

  // The sampled instruction pointers since the last time.
  // Takes them out, so that the ring does not run full.
  std::vector<uint64_t> Drain() const {
    auto* page = static_cast<perf_event_mmap_page*>(ring);
    const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
    const auto* data = static_cast<const char*>(ring) + kPage;
    constexpr uint64_t kBytes = kDataPages * kPage;
    const auto copy = [&](uint64_t at, void* to, size_t bytes) {
      for (size_t i = 0; i < bytes; ++i) static_cast<char*>(to)[i] = data[(at + i) % kBytes];
    };
    std::vector<uint64_t> pointers;
    uint64_t at = page->data_tail;
    while (at + sizeof(perf_event_header) <= head) {
      perf_event_header header{};
      copy(at, &header, sizeof header);
      if (header.size < sizeof header || at + header.size > head) break;
      if (header.type == PERF_RECORD_SAMPLE) {
        uint64_t pointer = 0;
        copy(at + sizeof header, &pointer, sizeof pointer);
        pointers.push_back(pointer);
      }
      at += header.size;
    }
    __atomic_store_n(&page->data_tail, at, __ATOMIC_RELEASE);
    return pointers;
  }
};

CpuSampler::CpuSampler(pid_t pid) : pid_(pid) {}
CpuSampler::CpuSampler(CpuSampler&&) noexcept = default;
CpuSampler::~CpuSampler() = default;

CpuSampler CpuSampler::Start(pid_t pid) {
  CpuSampler sampler(pid);
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_TASK_CLOCK;
  attributes.sample_period = kPeriodNs;
  attributes.sample_type = PERF_SAMPLE_IP;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const auto tasks = ListFolder(fmt::format("/proc/{}/task", pid));
  for (const fs::path& task : tasks ? *tasks : std::vector<fs::path>()) {
    const Result<int64_t> tid = ParseInt(task.filename().string());
    if (!tid) continue;
    auto thread = std::make_unique<Thread>();
    thread->fd = Fd(static_cast<int>(::syscall(
        SYS_perf_event_open, &attributes, static_cast<pid_t>(*tid), -1, -1, PERF_FLAG_FD_CLOEXEC)));
    if (thread->fd.valid()) {
      thread->ring = ::mmap(nullptr, (kDataPages + 1) * kPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                            thread->fd.get(), 0);
    }
    if (thread->ring == MAP_FAILED) {
      sampler.refusal_ =
          fmt::format("processor time is not sampled (perf_event_open: {})", std::strerror(errno));
      continue;
    }
    sampler.threads_.push_back(std::move(thread));
  }
  if (sampler.threads_.empty() && sampler.refusal_.empty()) {
    sampler.refusal_ = "processor time is not sampled (the worker shows no threads)";
  }
  return sampler;
}

void CpuSampler::Gather(const std::string& own_library) {
  const std::vector<Mapping> mappings = ReadMappings(pid_);
  const FileIdentity own = IdentityOf(pid_, own_library);
  for (const auto& thread : threads_) {
    for (const uint64_t pointer : thread->Drain()) {
      const auto found = std::ranges::find_if(mappings, [&](const Mapping& mapping) {
        return mapping.begin <= pointer && pointer < mapping.end;
      });
      if (found == mappings.end()) {
        ++by_object_[{"unmapped code", OwnFile::kNo}];
      } else {
        const bool is_own = !own.empty() && found->identity == own;
        ++by_object_[{found->path, is_own ? OwnFile::kYes : OwnFile::kNo}];
      }
    }
  }
}

int64_t CpuSampler::Count(const std::string& own_library) {
  Gather(own_library);
  const std::string harness = ExecutableOf(pid_);
  int64_t count = 0;
  for (const auto& [object, samples] : by_object_) {
    if (OwnerOf(object, own_library, harness).harness == Harness::kNo) count += samples;
  }
  return count;
}

CpuProfile CpuSampler::Stop(const std::string& own_library) {
  for (const auto& thread : threads_) ::ioctl(thread->fd.get(), PERF_EVENT_IOC_DISABLE, 0);
  Gather(own_library);
  const std::string harness = ExecutableOf(pid_);
  CpuProfile profile{.level = refusal_};
  std::vector<std::tuple<int64_t, std::string, Owner>> seen;
  int64_t total = 0;
  for (const auto& [object, samples] : by_object_) {
    const ObjectOwner owner = OwnerOf(object, own_library, harness);
    if (owner.harness == Harness::kYes) continue;
    profile.owner_ns[static_cast<size_t>(owner.owner)] += static_cast<double>(samples * kPeriodNs);
    total += samples;
    seen.emplace_back(samples, fs::path(object.first).filename().string(), owner.owner);
  }
  if (total < kFewestSamples) {
    // Too little evidence is none: no share is published, and nothing is held against anyone.
    if (profile.level.empty()) {
      profile.level = fmt::format("{} samples are too few to tell who uses the processor", total);
    }
    profile.owner_ns = {};
  } else if (const double runtime = profile.owner_ns[static_cast<size_t>(Owner::kRuntime)];
             static_cast<double>(total * kPeriodNs) - runtime <
             static_cast<double>(kFewestOutsideLibrary * kPeriodNs)) {
    // Who called memcpy is not seen, and for some operators it is all there is to do.
    profile.level = "all time is the C library's, whose callers are not told apart";
    profile.owner_ns = {};
  }
  std::ranges::sort(seen, std::greater<>());
  for (const auto& [samples, name, owner] : seen) {
    profile.objects.push_back(
        fmt::format("{} {:.1f} % {}", OwnerName(owner),
                    100 * static_cast<double>(samples) / static_cast<double>(total), name));
  }
  return profile;
}

ObjectOwner OwnerOfObject(const std::string& path, OwnFile own, const std::string& own_library,
                          const std::string& harness) {
  // A Python candidate's file is no library, and its interpreter and PyTorch make code as they run.
  const bool native = own_library.ends_with(".so");
  if (native && own == OwnFile::kYes) return {Owner::kOwn};
  if (!harness.empty() && path == harness) return {Owner::kRuntime, Harness::kYes};
  const std::string name = fs::path(path).filename().string();
  if (path.starts_with("/memfd:") || path.starts_with("/dev/shm/") || path.starts_with("/tmp/") ||
      path.find("/scratch/") != path.npos) {
    return {Owner::kPrebuilt};
  }
  if (path == kAnonymousCode) return {native ? Owner::kPrebuilt : Owner::kUnknown};
  if (ContainsAny(name, {"openblas", "libblas", "liblapack", "libmkl", "libcblas", "libdnnl"})) {
    return {Owner::kVendor};
  }
  if (ContainsAny(name, {"libtorch", "libc10", "python", "cpython", "numpy", "libopencv"})) {
    return {Owner::kFramework};
  }
  if (ContainsAny(name, {"libc.", "libc-", "ld-linux", "libm.", "libm-", "libstdc++", "libgcc",
                         "libgomp", "libpthread", "libtbb", "[vdso]", "[vsyscall]"})) {
    return {Owner::kRuntime};
  }
  return {Owner::kUnknown};
}

}  // namespace roofmark::worker
