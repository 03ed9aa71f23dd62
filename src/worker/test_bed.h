// SPDX-License-Identifier: Apache-2.0
// For tests of workers: a tiny operator (out = factor * x), candidates compiled from text in the
// sandbox, and a worker with its arenas lent, ready to be called.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "device/cpu_arena.h"
#include "model/operator.h"
#include "worker/worker.h"

namespace roofmark::worker {

// inputs x f32 [n], outputs out f32 [n], axis n, attribute factor.
Operator ScaleOperator();
Json ScaleContract();
Json MapRequest(std::string_view name, const device::Arena& arena, std::string_view access);

class TestBed {
 public:
  static constexpr int64_t kElements = 1000;

  // Compiles `source`, behind an include of "roofmark/scale.h", to candidate.so in a folder.
  // Requires: it compiles (CHECK).
  static TempDir Compile(std::string_view source);
  // A worker for such a folder; `trick` becomes the variable TRICK of its environment.
  static TestBed Native(const fs::path& folder, std::string_view trick = "");
  // Writes `source` as candidate.py.
  static TestBed Python(std::string_view source);

  // Starts a worker, lends it inputs 0, 1, 2.. and poisoned outputs, loads and inits the candidate.
  Result<Answer<Json>> Start(double timeout_s = 30);
  // One call; out is poisoned before.
  Result<Answer<Json>> Call(double timeout_s = 10);
  // Loads another source into the worker that runs, and inits it. Python only.
  Result<Answer<Json>> Reload(std::string_view source);
  // Start and call; the first mishap on the way.
  Mishap Fate(double call_timeout_s = 10);

  void StopWorker() { worker_.reset(); }

  Worker& worker() { return *worker_; }
  device::CpuArena& in() { return *in_; }
  device::CpuArena& out() { return *out_; }
  float* out_values();
  bool OutIsRight();
  WorkerSpec spec;

 private:
  TestBed(WorkerKind kind, fs::path folder);

  TempDir files_;  // python/ for sources, scratch/
  std::unique_ptr<device::CpuArena> in_;
  std::unique_ptr<device::CpuArena> out_;
  std::unique_ptr<Worker> worker_;
  Result<Answer<Json>> LoadAndInit(double timeout_s);

  std::string path_;
  int reloads_ = 0;
  std::string lane_;
};

}  // namespace roofmark::worker
