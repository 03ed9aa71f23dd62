// SPDX-License-Identifier: Apache-2.0
// Keeps a sandbox from running while nobody has called it. A candidate whose threads, children or
// signal handlers work between calls would have its answers ready before its clock starts; so the
// judge stops all of them while it prepares a call, and sees afterwards who ran without being
// asked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <vector>

namespace roofmark::worker {

class Stillness {
 public:
  // Of the worker and every other process in its process namespace.
  explicit Stillness(pid_t worker);
  ~Stillness() { Release(); }
  Stillness(const Stillness&) = delete;
  Stillness& operator=(const Stillness&) = delete;

  // Stops all of them, those that were started meanwhile too, and returns when the worker has
  // stopped (or a few milliseconds later). False where it waits in the kernel for a child that runs
  // in its place (vfork): such a process does not stop, and its memory changes meanwhile.
  bool Hold();
  // Lets them go on. Does nothing where nothing is held.
  void Release();

  // Processor time in nanoseconds that everything but the worker's main thread has used so far.
  // Threads that have ended are not in it.
  int64_t OthersNs() const;
  // Of that, what other processes than the worker's have used.
  int64_t OtherProcessesNs() const;
  // What each of those threads has used so far, by its folder below /proc; exact while held.
  std::map<std::filesystem::path, int64_t> OthersByThread() const;
  // How many threads those are.
  int64_t Others() const;
  // How long the worker's main thread has stood in line for a processor so far.
  int64_t WaitedNs() const;
  // How long it has run so far. Exact while it is held; of a thread that runs, the kernel knows it as
  // of its last tick.
  int64_t RanNs() const;
  // Waits until nothing but the main thread runs any more. False when the others have used 20 ms of
  // processor time since, far more than an OpenMP runtime spins. (They may have to wait for it: two
  // seconds is the end.)
  bool Settle() const;

 private:
  void Signal(int signal) const;
  // Finds what was started since; true when there is something new.
  bool LookAgain();
  std::vector<std::filesystem::path> OtherTasks() const;

  pid_t worker_;
  std::vector<pid_t> processes_;  // the worker first
  pid_t root_;                    // an ancestor of all of them and of nobody else's; 0 = unknown
  bool held_ = false;
};

// The same of the calling thread; 0 where the kernel does not tell.
int64_t OwnWaitedNs();

}  // namespace roofmark::worker
