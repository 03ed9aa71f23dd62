// SPDX-License-Identifier: Apache-2.0
//
// Keeps a thread between calls, which sleeps on a condition until there is work.

#include <condition_variable>
#include <mutex>
#include <thread>

#include "right_norm.h"

struct Job {
  rms_norm_args args;
  int64_t begin, end;
};

class Helper {
 public:
  Helper() {
    std::thread([this] { Serve(); }).detach();
  }
  void Give(const Job& job) {
    const std::lock_guard<std::mutex> lock(mutex_);
    job_ = job;
    busy_ = true;
    changed_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !busy_; });
  }

 private:
  void Serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return busy_; });
      RightRows(job_.args, job_.begin, job_.end, Out(&job_.args));
      busy_ = false;
      changed_.notify_all();
    }
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  Job job_ = {};
  bool busy_ = false;
};

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static Helper* const helper = new Helper;
  const int64_t half = args->tokens / 2;
  helper->Give({*args, 0, half});
  RightRows(*args, half, args->tokens, Out(args));
  helper->Wait();
  return 0;
}
