// SPDX-License-Identifier: Apache-2.0
// The stage on which timed calls run, inside the worker: kernels of ours around each of the
// candidate's calls. One stream holds, in order,
//
//   hold | flush mark event CALL event mark | flush mark event CALL event mark | ... | flush
//
// `hold` keeps the stream busy until the judge says go, when the whole batch is queued: no call
// waits for its launch, and the judge's clock from go to done covers the device's work and nothing
// else. Ahead of a call whose operands are probed (Probe) its flush comes twice, with loads of a
// few of their lines in between, so that the probe leaves nothing to the call:
//
//   flush touch probe | flush mark event CALL event mark
//
// `flush` reads more than twice the L2 cache: it evicts the operands and writes dirty lines
// back *before* the call, which a flush that writes would leave for the call to pay (on an H200 up
// to 2 us at 16 MB, docs/method.md). The marks delimit each call in the meter's records.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "device/cuda_api.h"

namespace roofmark::device {

// CUDA C++ of the stage's kernels; the judge compiles it once and gives the cubin to its workers,
// whose meter reports them by that cubin's hash.
std::string StageSource();
inline constexpr const char* kStageHold = "roofmark_stage_hold";
inline constexpr const char* kStageFlush = "roofmark_stage_flush";
inline constexpr const char* kStageMark = "roofmark_stage_mark";
inline constexpr const char* kStageWarm = "roofmark_stage_warm";
inline constexpr const char* kStageTouch = "roofmark_stage_touch";
inline constexpr const char* kStageProbe = "roofmark_stage_probe";
inline constexpr const char* kStageDisturb = "roofmark_stage_disturb";

// At most so many lines of operands in one probe, and so many probes in one batch.
inline constexpr size_t kProbedLines = 32;
inline constexpr size_t kMaxProbes = 16;

class CudaStage {
 public:
  // Requires: a current context. `flush_bytes` >= twice the L2 cache.
  static Result<std::unique_ptr<CudaStage>> Load(const CudaApi& api, const std::string& cubin,
                                                 int64_t flush_bytes);
  CudaStage(const CudaStage&) = delete;
  CudaStage& operator=(const CudaStage&) = delete;
  ~CudaStage();

  // From the next batch on, whether the mark behind a call waits for everything that was queued in
  // the whole context by then, on whatever stream: hold | flush mark event CALL event JOIN event
  // mark. For calls whose work no meter reports in full. Where the driver cannot make a stream wait
  // for a context (before CUDA 12.5), the caller waits for it, and the hold does not last.
  void JoinContext(bool join) { join_ = join; }
  // Starts a batch of `calls` on `stream`. The hold ends at Go, or by itself after `hold_ns`: a
  // call that waits for the device must not hang.
  Result<void> Begin(cu::Stream stream, int calls, int64_t hold_ns);
  // Ahead of BeforeCall: times loads of these lines, `offsets` bytes into the arena at `base`, as
  // the flush before this call has left them. No two offsets are within 128 bytes of each other or
  // of a multiple of 2 MiB.
  Result<void> Probe(uint64_t base, std::span<const uint64_t> offsets);
  // Ahead of BeforeCall: these bytes will be in the L2 cache when the call begins.
  void KeepWarm(cu::Pointer at, uint64_t bytes) { warm_.emplace_back(at, bytes); }
  // Around each of the candidate's calls, in order.
  Result<void> BeforeCall();
  Result<void> AfterCall();
  // Queues the last flush.
  Result<void> End();
  // Lets the batch run and waits for the whole device. Errors of the candidate's kernels surface
  // here.
  Result<void> Go();
  // After Go: the event time of each call in nanoseconds, with its join.
  Result<std::vector<double>> EventTimes() const;
  // After Go, as numbers: {"set_aside": bytes of the L2 that are set aside for persisting lines,
  // which Begin had set to none, "policies": flushes ahead of which the stream had an access policy
  // for the L2, which the flush then took away, or -1 where the driver does not tell; "joined_ns":
  // how long each call's stream waited for its context, empty unless JoinContext; "probe":
  // {"operands", "hits", "misses": [cycles]}}, where hits and misses are those of lines of the
  // stage's own.
  Result<Json> Findings() const;
  // Occupies `percent` of the multiprocessors, at least one, each for a random time up to
  // `limit_ns`, on a stream of its own. Returns at once; whoever waits for the device waits for it.
  Result<void> Disturb(int percent, uint64_t seed, int64_t limit_ns);
  // After Go: whether the hold lasted until go. It does not when a call waits for the device.
  bool held() const { return go_[1] != batch_; }

 private:
  explicit CudaStage(const CudaApi& api) : api_(api) {}
  Result<void> Launch(cu::Function kernel, unsigned blocks, unsigned threads, void** arguments);
  Result<void> FindKernels(const std::string& cubin);
  Result<void> Allocate(size_t flush_bytes);
  Result<void> PrepareDisturbance(cu::Device device);
  Result<void> Flush();
  Result<void> ClearAccessPolicy();
  Result<void> Join();
  Result<double> Elapsed(size_t from, size_t to) const;
  Result<void> GrowEvents(size_t count);

  CudaApi api_;
  cu::Module module_ = nullptr;
  cu::Function hold_ = nullptr;
  cu::Function flush_ = nullptr;
  cu::Function mark_ = nullptr;
  cu::Function warm_kernel_ = nullptr;
  cu::Function touch_ = nullptr;
  cu::Function probe_ = nullptr;
  cu::Function disturb_ = nullptr;
  cu::Stream disturbing_ = nullptr;
  unsigned disturb_shared_ = 0;
  unsigned units_ = 0;
  // Lines whose state is known; control_ is the first page in them.
  cu::Pointer control_buffer_ = 0;
  cu::Pointer control_ = 0;
  // Host memory that the probes of a batch write to: three times kProbedLines for each.
  volatile uint32_t* probed_ = nullptr;
  cu::Pointer probed_device_ = 0;
  std::vector<size_t> probed_lines_;                    // by probe
  std::vector<std::pair<cu::Pointer, uint64_t>> warm_;  // of the next call
  cu::Pointer buffer_ = 0;
  uint64_t vectors_ = 0;  // 16-byte words in the flush buffer
  // Host memory shared with the hold kernel: the batch that may run, and the last whose hold ended
  // by itself.
  volatile uint32_t* go_ = nullptr;
  cu::Pointer go_device_ = 0;
  std::vector<cu::Event> events_;
  cu::Context context_ = nullptr;
  cu::Event joined_ = nullptr;
  bool join_ = false;
  bool joining_ = false;  // what join_ was when the batch began
  int64_t policies_ = 0;
  cu::Stream stream_ = nullptr;
  unsigned blocks_ = 0;
  uint32_t batch_ = 0;
  int calls_ = 0;
  size_t next_event_ = 0;
};

}  // namespace roofmark::device
