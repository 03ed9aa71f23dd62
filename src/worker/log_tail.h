// SPDX-License-Identifier: Apache-2.0
// The end of what a process prints. A thread reads all the time, so that a talkative candidate
// never waits for the judge, and keeps a bounded tail.
#pragma once

#include <mutex>
#include <string>
#include <thread>

#include "base/owned.h"

namespace roofmark::worker {

inline constexpr size_t kLogTailBytes = 64 << 10;

class LogTail {
 public:
  // `pipe` is the reading end.
  explicit LogTail(Fd pipe);
  ~LogTail();
  LogTail(const LogTail&) = delete;
  LogTail& operator=(const LogTail&) = delete;

  // Valid UTF-8.
  std::string Text();
  // Reads what is still in the pipe, and no more after that.
  void Finish();

 private:
  void ReadAll();

  Fd pipe_;
  Fd stop_;  // an eventfd
  std::mutex mutex_;
  std::string text_;
  std::thread thread_;
};

}  // namespace roofmark::worker
