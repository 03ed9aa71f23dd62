// SPDX-License-Identifier: Apache-2.0
#include "worker/stillness.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStopPatience = std::chrono::milliseconds(5);
constexpr auto kSettlePatience = std::chrono::seconds(2);
constexpr int64_t kSettleNs = 20'000'000;
constexpr useconds_t kLookUs = 300;
// How often a stopped candidate is searched for processes that others started meanwhile.
constexpr int kMostSearches = 4;
// Of a look: what waking up for nothing costs, but no work.
constexpr int64_t kIdleNs = 30'000;

// The process namespace of a process as text; empty where it cannot be seen.
std::string NamespaceOf(pid_t pid) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/{}/ns/pid", pid), error).string();
}

// The worker, then all others of its namespace but its init process, which runs our own code.
std::vector<pid_t> ProcessesBeside(pid_t worker) {
  std::vector<pid_t> found = {worker};
  const std::string mine = NamespaceOf(worker);
  // Without a namespace of its own, children cannot be told from others' processes.
  if (mine.empty() || mine == NamespaceOf(::getpid())) return found;
  std::error_code error;
  for (fs::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const Result<int64_t> pid = ParseInt(it->path().filename().string());
    if (!pid || *pid == worker || NamespaceOf(static_cast<pid_t>(*pid)) != mine) continue;
    const Result<std::string> status = ReadFile(it->path() / "status");
    // "NSpid:  4711  1": its number outside, then inside.
    const size_t at = status ? status->find("NSpid:") : std::string::npos;
    if (at == std::string::npos) continue;
    const std::string_view line = std::string_view(*status).substr(at, status->find('\n', at) - at);
    if (line.ends_with("\t1")) continue;
    found.push_back(static_cast<pid_t>(*pid));
  }
  return found;
}

// The numbers of schedstat: time on a processor and time in line for one, in nanoseconds.
// Source: Documentation/scheduler/sched-stats.rst of Linux, "/proc/<pid>/schedstat".
enum class Schedstat { kRan, kWaited };
int64_t NsOf(const fs::path& task, Schedstat which) {
  const Result<std::string> text = ReadFile(task / "schedstat");
  if (!text) return 0;
  char* rest = nullptr;
  const int64_t ran = std::strtoll(text->c_str(), &rest, 10);
  return which == Schedstat::kRan ? ran : std::strtoll(rest, nullptr, 10);
}

int64_t TaskRanNs(const fs::path& task) {
  return NsOf(task, Schedstat::kRan);
}

// The fields of a process's or a thread's stat behind the name, from the state on; none where it is
// gone.
std::vector<std::string> StatFields(const fs::path& task) {
  const Result<std::string> stat = ReadFile(task / "stat");
  const size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return {};
  const auto words = Split(std::string_view(*stat).substr(name_end + 2), ' ');
  return {words.begin(), words.end()};
}

fs::path FolderOf(pid_t pid) {
  return fmt::format("/proc/{}", pid);
}

bool IsStopped(pid_t pid) {
  const std::vector<std::string> fields = StatFields(FolderOf(pid));
  return fields.empty() || fields[0] == "T";
}

bool WaitsInTheKernel(pid_t pid) {
  const std::vector<std::string> fields = StatFields(FolderOf(pid));
  return !fields.empty() && fields[0] == "D";
}

bool Runs(const fs::path& task) {
  const std::vector<std::string> fields = StatFields(task);
  return !fields.empty() && fields[0] == "R";
}

// The init process of the worker's sandbox: orphans inside come to it. 0 where the worker is a
// child of this process, which has others.
pid_t RootOf(pid_t worker) {
  const std::vector<std::string> fields = StatFields(FolderOf(worker));
  const auto parent = static_cast<pid_t>(fields.size() < 2 ? 0 : ParseInt(fields[1]).value_or(0));
  return parent == ::getpid() ? 0 : parent;
}

std::vector<fs::path> TasksOf(pid_t pid) {
  std::vector<fs::path> found;
  std::error_code error;
  const fs::path tasks = fmt::format("/proc/{}/task", pid);
  for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
    found.push_back(it->path());
  }
  return found;
}

// Adds all that descends from a process, as far as the kernel tells (CONFIG_PROC_CHILDREN).
void AddDescendants(pid_t pid, std::vector<pid_t>* found) {
  for (const fs::path& task : TasksOf(pid)) {
    const Result<std::string> children = ReadFile(task / "children");
    for (const std::string_view word : Split(children ? std::string_view(*children) : "", ' ')) {
      const auto child = static_cast<pid_t>(ParseInt(word).value_or(0));
      if (child == 0) continue;
      found->push_back(child);
      AddDescendants(child, found);
    }
  }
}

}  // namespace

Stillness::Stillness(pid_t worker)
    : worker_(worker), processes_(ProcessesBeside(worker)), root_(RootOf(worker)) {}

bool Stillness::LookAgain() {
  std::vector<pid_t> now;
  if (root_ != 0) AddDescendants(root_, &now);
  const size_t before = processes_.size();
  for (const pid_t pid : now) {
    if (std::ranges::find(processes_, pid) == processes_.end()) processes_.push_back(pid);
  }
  return processes_.size() > before;
}

void Stillness::Signal(int signal) const {
  for (const pid_t pid : processes_) ::kill(pid, signal);
}

bool Stillness::Hold() {
  held_ = true;
  Signal(SIGSTOP);
  const Clock::time_point begin = Clock::now();
  while (!IsStopped(worker_) && Clock::now() - begin < kStopPatience) {
  }
  for (int i = 0; i < kMostSearches && LookAgain(); ++i) Signal(SIGSTOP);
  return IsStopped(worker_) || !WaitsInTheKernel(worker_);
}

void Stillness::Release() {
  if (held_) Signal(SIGCONT);
  held_ = false;
}

// Of every thread but the worker's main one.
std::vector<fs::path> Stillness::OtherTasks() const {
  std::vector<fs::path> others;
  for (const pid_t pid : processes_) std::ranges::move(TasksOf(pid), std::back_inserter(others));
  std::erase_if(others,
                [&](const fs::path& task) { return task.filename() == std::to_string(worker_); });
  return others;
}

int64_t Stillness::OthersNs() const {
  int64_t total = 0;
  for (const fs::path& task : OtherTasks()) total += TaskRanNs(task);
  return total;
}

std::map<fs::path, int64_t> Stillness::OthersByThread() const {
  std::map<fs::path, int64_t> used;
  for (const fs::path& task : OtherTasks()) used[task] = TaskRanNs(task);
  return used;
}

int64_t Stillness::OtherProcessesNs() const {
  int64_t total = 0;
  for (const pid_t pid : processes_) {
    if (pid == worker_) continue;
    for (const fs::path& task : TasksOf(pid)) total += TaskRanNs(task);
  }
  return total;
}

int64_t Stillness::Others() const {
  return static_cast<int64_t>(OtherTasks().size());
}

int64_t Stillness::WaitedNs() const {
  return NsOf(fmt::format("/proc/{0}/task/{0}", worker_), Schedstat::kWaited);
}

int64_t Stillness::RanNs() const {
  return NsOf(fmt::format("/proc/{0}/task/{0}", worker_), Schedstat::kRan);
}

int64_t OwnWaitedNs() {
  return NsOf("/proc/thread-self", Schedstat::kWaited);
}

bool Stillness::Settle() const {
  const Clock::time_point begin = Clock::now();
  const int64_t at_first = OthersNs();
  int64_t before = at_first;
  while (before - at_first < kSettleNs && Clock::now() - begin < kSettlePatience) {
    if (processes_.size() == 1 && before == 0) return true;  // it has no other threads at all
    ::usleep(kLookUs);
    const int64_t now = OthersNs();
    // Of a thread that runs, the kernel counts the time at its next tick, milliseconds later: a
    // thread that spins must not be taken for one that sleeps.
    if (now - before <= kIdleNs && std::ranges::none_of(OtherTasks(), Runs)) return true;
    before = now;
  }
  return false;
}

}  // namespace roofmark::worker
