// SPDX-License-Identifier: Apache-2.0
// The stage on which timed calls run, inside the worker: kernels of ours around each of the
// candidate's calls. One stream holds, in order,
//
//   hold | flush mark event CALL event mark | flush mark event CALL event mark | ... | flush
//
// `hold` keeps the stream busy until the judge says go, when the whole batch is queued: no call
// waits for its launch, and the judge's clock from go to done covers the device's work and nothing
// else. `flush` reads more than twice the L2 cache: it evicts the operands and writes dirty lines
// back *before* the call, which a flush that writes would leave for the call to pay (on an H200 up
// to 2 us at 16 MB, docs/method.md). The marks delimit each call in the meter's records.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "device/cuda_api.h"

namespace roofmark::device {

// CUDA C++ of the stage's kernels; the judge compiles it once and gives the cubin to its workers,
// whose meter reports them by that cubin's hash.
std::string StageSource();
inline constexpr const char* kStageHold = "roofmark_stage_hold";
inline constexpr const char* kStageFlush = "roofmark_stage_flush";
inline constexpr const char* kStageMark = "roofmark_stage_mark";

class CudaStage {
 public:
  // Requires: a current context. `flush_bytes` >= twice the L2 cache.
  static Result<std::unique_ptr<CudaStage>> Load(const CudaApi& api, const std::string& cubin,
                                                 int64_t flush_bytes);
  CudaStage(const CudaStage&) = delete;
  CudaStage& operator=(const CudaStage&) = delete;
  ~CudaStage();

  // Starts a batch of `calls` on `stream`. The hold ends at Go, or by itself after `hold_ns`: a
  // call that waits for the device must not hang.
  Result<void> Begin(cu::Stream stream, int calls, int64_t hold_ns);
  // Around each of the candidate's calls, in order.
  Result<void> BeforeCall();
  Result<void> AfterCall();
  // Queues the last flush.
  Result<void> End();
  // Lets the batch run and waits for the whole device. Errors of the candidate's kernels surface
  // here.
  Result<void> Go();
  // After Go: the event time of each call in nanoseconds.
  Result<std::vector<double>> EventTimes() const;
  // After Go: whether the hold lasted until go. It does not when a call waits for the device.
  bool held() const { return go_[1] != batch_; }

 private:
  explicit CudaStage(const CudaApi& api) : api_(api) {}
  Result<void> Launch(cu::Function kernel, unsigned blocks, unsigned threads, void** arguments);
  Result<void> Flush();
  Result<void> GrowEvents(size_t count);

  CudaApi api_;
  cu::Module module_ = nullptr;
  cu::Function hold_ = nullptr;
  cu::Function flush_ = nullptr;
  cu::Function mark_ = nullptr;
  cu::Pointer buffer_ = 0;
  uint64_t vectors_ = 0;  // 16-byte words in the flush buffer
  // Host memory shared with the hold kernel: the batch that may run, and the last whose hold ended
  // by itself.
  volatile uint32_t* go_ = nullptr;
  cu::Pointer go_device_ = 0;
  std::vector<cu::Event> events_;
  cu::Stream stream_ = nullptr;
  unsigned blocks_ = 0;
  uint32_t batch_ = 0;
  int calls_ = 0;
  size_t next_event_ = 0;
};

}  // namespace roofmark::device
