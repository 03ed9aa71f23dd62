// SPDX-License-Identifier: Apache-2.0
// Keeps a sandbox from running while nobody has called it. A candidate whose threads, children or
// signal handlers work between calls would have its answers ready before its clock starts; so the
// judge stops all of them while it prepares a call, and sees afterwards who ran without being
// asked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <vector>

namespace roofmark::worker {

class Stillness {
 public:
  // Of the worker and every other process in its process namespace, as they are now.
  explicit Stillness(pid_t worker);
  ~Stillness() { Release(); }
  Stillness(const Stillness&) = delete;
  Stillness& operator=(const Stillness&) = delete;

  // Stops all of them, and returns when the worker has stopped (or a few milliseconds later).
  void Hold();
  // Lets them go on. Does nothing where nothing is held.
  void Release();

  // Processor time in nanoseconds that everything but the worker's main thread has used so far.
  // Threads that have ended are not in it.
  int64_t OthersNs() const;
  // How many threads those are.
  int64_t Others() const;
  // Waits until nothing but the main thread runs any more. False when something still did after
  // the patience (20 ms, far more than an OpenMP runtime spins).
  bool Settle() const;

 private:
  void Signal(int signal) const;
  std::vector<std::filesystem::path> OtherTasks() const;

  pid_t worker_;
  std::vector<pid_t> processes_;  // the worker first
  bool held_ = false;
};

}  // namespace roofmark::worker
