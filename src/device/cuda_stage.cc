// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_stage.h"

namespace roofmark::device {
namespace {

constexpr unsigned kFlushThreads = 512;
constexpr unsigned kFlushBlocksPerUnit = 4;

}  // namespace

std::string StageSource() {
  return R"cuda(
typedef unsigned int u32;
typedef unsigned long long u64;

// Spins until the host writes `batch` to go[0], or until `limit_ns` have passed; go[1] tells which.
extern "C" __global__ void roofmark_stage_hold(volatile u32* go, u32 batch, u64 limit_ns) {
  u64 start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
  do {
    if (go[0] == batch) return;
    __nanosleep(200);
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  } while (now - start < limit_ns);
  go[1] = batch;
}

extern "C" __global__ void roofmark_stage_mark() {}

// Past the L1 caches, which are each multiprocessor's own.
__device__ __forceinline__ u32 Load(const uint4* from) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
  return v.x | v.y | v.z | v.w;
}

// Reads the whole buffer and writes nothing. The condition is never true, since the buffer holds
// zeros, but the compiler cannot know.
extern "C" __global__ void __launch_bounds__(512)
roofmark_stage_flush(const uint4* data, u64 vectors, u32* sink) {
  const u64 stride = (u64)gridDim.x * blockDim.x;
  u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
  u32 seen = 0;
  for (; i + 3 * stride < vectors; i += 4 * stride) {
    seen |= Load(data + i) | Load(data + i + stride);
    seen |= Load(data + i + 2 * stride) | Load(data + i + 3 * stride);
  }
  for (; i < vectors; i += stride) seen |= Load(data + i);
  if (seen != 0) *sink = seen;
}
)cuda";
}

Result<std::unique_ptr<CudaStage>> CudaStage::Load(const CudaApi& api, const std::string& cubin,
                                                   int64_t flush_bytes) {
  std::unique_ptr<CudaStage> stage(new CudaStage(api));
  TRY(api.Check(api.module_load_data(&stage->module_, cubin.data()), "loading the stage"));
  TRY(api.Check(api.module_get_function(&stage->hold_, stage->module_, kStageHold), kStageHold));
  TRY(api.Check(api.module_get_function(&stage->flush_, stage->module_, kStageFlush), kStageFlush));
  TRY(api.Check(api.module_get_function(&stage->mark_, stage->module_, kStageMark), kStageMark));

  int units = 0;
  cu::Device device = 0;
  TRY(api.Check(api.device_get(&device, 0), "finding the device"));
  TRY(api.Check(api.device_get_attribute(&units, cu::kAttributeMultiprocessors, device),
                "counting multiprocessors"));
  stage->blocks_ = static_cast<unsigned>(units) * kFlushBlocksPerUnit;
  stage->vectors_ = static_cast<uint64_t>(flush_bytes) / 16;
  const auto bytes = static_cast<size_t>(flush_bytes);
  TRY(api.Check(api.mem_alloc(&stage->buffer_, bytes), "allocating the flush buffer"));
  TRY(api.Check(api.memset_d8_async(stage->buffer_, 0, bytes, nullptr), "zeroing it"));

  void* host = nullptr;
  TRY(api.Check(api.mem_host_alloc(&host, 2 * sizeof(uint32_t), cu::kHostAllocDeviceMap),
                "allocating the hold's flag"));
  stage->go_ = static_cast<volatile uint32_t*>(host);
  stage->go_[0] = 0;
  stage->go_[1] = 0;
  TRY(api.Check(api.mem_host_get_device_pointer(&stage->go_device_, host, 0),
                "mapping the hold's flag"));
  TRY(api.Check(api.ctx_synchronize(), "preparing the stage"));
  return stage;
}

CudaStage::~CudaStage() {
  // The process is about to end, or the context is broken: nothing here can be reported usefully.
  for (const cu::Event event : events_) api_.event_destroy(event);
  if (go_ != nullptr) api_.mem_free_host(const_cast<uint32_t*>(go_));
  if (buffer_ != 0) api_.mem_free(buffer_);
  if (module_ != nullptr) api_.module_unload(module_);
}

Result<void> CudaStage::Launch(cu::Function kernel, unsigned blocks, unsigned threads,
                               void** arguments) {
  return api_.Check(
      api_.launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream_, arguments, nullptr),
      "launching the stage's kernel");
}

Result<void> CudaStage::Flush() {
  cu::Pointer sink = buffer_;
  void* arguments[] = {&buffer_, &vectors_, &sink};
  return Launch(flush_, blocks_, kFlushThreads, arguments);
}

Result<void> CudaStage::GrowEvents(size_t count) {
  while (events_.size() < count) {
    cu::Event event = nullptr;
    TRY(api_.Check(api_.event_create(&event, 0), "creating an event"));
    events_.push_back(event);
  }
  return {};
}

Result<void> CudaStage::Begin(cu::Stream stream, int calls, int64_t hold_ns) {
  stream_ = stream;
  calls_ = calls;
  next_event_ = 0;
  TRY(GrowEvents(static_cast<size_t>(calls) * 2));
  // A set-aside for persisting lines would survive the flush; the device's default is none.
  TRY(api_.Check(api_.ctx_set_limit(cu::kLimitPersistingL2, 0), "clearing the L2 set-aside"));
  TRY(api_.Check(api_.ctx_reset_persisting_l2(), "resetting persisting L2 lines"));
  ++batch_;
  auto limit = static_cast<uint64_t>(hold_ns);
  void* arguments[] = {&go_device_, &batch_, &limit};
  return Launch(hold_, 1, 1, arguments);
}

Result<void> CudaStage::BeforeCall() {
  TRY(Flush());
  TRY(Launch(mark_, 1, 1, nullptr));
  return api_.Check(api_.event_record(events_[next_event_++], stream_), "recording an event");
}

Result<void> CudaStage::AfterCall() {
  TRY(api_.Check(api_.event_record(events_[next_event_++], stream_), "recording an event"));
  return Launch(mark_, 1, 1, nullptr);
}

// A second reset here, behind the queued calls, was tried: it waits for the device, and so for the
// hold's limit (H200, 2026-11-30: "run() waits for the device" of every kernel).
Result<void> CudaStage::End() {
  return Flush();
}

Result<void> CudaStage::Go() {
  go_[0] = batch_;
  return api_.Check(api_.ctx_synchronize(), "running the batch");
}

Result<std::vector<double>> CudaStage::EventTimes() const {
  std::vector<double> event_ns;
  for (int i = 0; i < calls_; ++i) {
    float ms = 0;
    const auto at = static_cast<size_t>(i) * 2;
    TRY(api_.Check(api_.event_elapsed_ms(&ms, events_[at], events_[at + 1]), "reading events"));
    event_ns.push_back(static_cast<double>(ms) * 1e6);
  }
  return event_ns;
}

}  // namespace roofmark::device
