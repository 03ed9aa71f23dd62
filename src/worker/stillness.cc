// SPDX-License-Identifier: Apache-2.0
#include "worker/stillness.h"

#include <fmt/format.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kStopPatience = std::chrono::milliseconds(5);
constexpr auto kSettlePatience = std::chrono::milliseconds(20);
constexpr useconds_t kLookUs = 300;
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

// The first number of schedstat: time on a processor in nanoseconds.
// Source: Documentation/scheduler/sched-stats.rst of Linux, "/proc/<pid>/schedstat".
int64_t RanNs(const fs::path& task) {
  const Result<std::string> text = ReadFile(task / "schedstat");
  if (!text) return 0;
  return std::strtoll(text->c_str(), nullptr, 10);
}

bool IsStopped(pid_t pid) {
  const Result<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  const size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  return name_end == std::string::npos || (*stat)[name_end + 2] == 'T';
}

}  // namespace

Stillness::Stillness(pid_t worker) : worker_(worker), processes_(ProcessesBeside(worker)) {}

void Stillness::Signal(int signal) const {
  for (const pid_t pid : processes_) ::kill(pid, signal);
}

void Stillness::Hold() {
  held_ = true;
  Signal(SIGSTOP);
  const Clock::time_point begin = Clock::now();
  while (!IsStopped(worker_) && Clock::now() - begin < kStopPatience) {
  }
}

void Stillness::Release() {
  if (held_) Signal(SIGCONT);
  held_ = false;
}

// Of every thread but the worker's main one.
std::vector<fs::path> Stillness::OtherTasks() const {
  std::vector<fs::path> others;
  for (const pid_t pid : processes_) {
    std::error_code error;
    const fs::path tasks = fmt::format("/proc/{}/task", pid);
    for (fs::directory_iterator it(tasks, error), end; !error && it != end; it.increment(error)) {
      if (it->path().filename() != std::to_string(worker_)) others.push_back(it->path());
    }
  }
  return others;
}

int64_t Stillness::OthersNs() const {
  int64_t total = 0;
  for (const fs::path& task : OtherTasks()) total += RanNs(task);
  return total;
}

int64_t Stillness::Others() const {
  return static_cast<int64_t>(OtherTasks().size());
}

bool Stillness::Settle() const {
  const Clock::time_point begin = Clock::now();
  int64_t before = OthersNs();
  while (Clock::now() - begin < kSettlePatience) {
    if (processes_.size() == 1 && before == 0) return true;  // it has no other threads at all
    ::usleep(kLookUs);
    const int64_t now = OthersNs();
    if (now - before <= kIdleNs) return true;
    before = now;
  }
  return false;
}

}  // namespace roofmark::worker
