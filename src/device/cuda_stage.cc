// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_stage.h"

#include <algorithm>
#include <array>

namespace roofmark::device {
namespace {

constexpr unsigned kFlushThreads = 512;
constexpr unsigned kFlushBlocksPerUnit = 4;
constexpr unsigned kDisturbThreads = 128;
constexpr size_t kPageBytes = size_t{2} << 20;
// Of a probe: lines of operands, hits, misses.
constexpr size_t kProbeWords = 3 * kProbedLines;

// The argument of roofmark_stage_probe; the layout is the device code's.
struct Sample {
  uint64_t base = 0;
  std::array<uint64_t, kProbedLines> offsets{};
};

}  // namespace

Result<std::unique_ptr<CudaStage>> CudaStage::Load(const CudaApi& api, const std::string& cubin,
                                                   int64_t flush_bytes) {
  std::unique_ptr<CudaStage> stage(new CudaStage(api));
  TRY(stage->FindKernels(cubin));
  int units = 0;
  cu::Device device = 0;
  TRY(api.Check(api.device_get(&device, 0), "finding the device"));
  TRY(api.Check(api.device_get_attribute(&units, cu::kAttributeMultiprocessors, device),
                "counting multiprocessors"));
  stage->units_ = static_cast<unsigned>(units);
  stage->blocks_ = static_cast<unsigned>(units) * kFlushBlocksPerUnit;
  stage->vectors_ = static_cast<uint64_t>(flush_bytes) / 16;
  TRY(stage->Allocate(static_cast<size_t>(flush_bytes)));
  TRY(stage->PrepareDisturbance(device));
  TRY(api.Check(api.ctx_get_current(&stage->context_), "finding the context"));
  TRY(api.Check(api.event_create(&stage->joined_, cu::kEventNoTiming), "creating an event"));
  TRY(api.Check(api.ctx_synchronize(), "preparing the stage"));
  return stage;
}

Result<void> CudaStage::FindKernels(const std::string& cubin) {
  TRY(api_.Check(api_.module_load_data(&module_, cubin.data()), "loading the stage"));
  const std::pair<cu::Function*, const char*> kernels[] = {
      {&hold_, kStageHold},        {&flush_, kStageFlush}, {&mark_, kStageMark},
      {&warm_kernel_, kStageWarm}, {&touch_, kStageTouch}, {&probe_, kStageProbe},
      {&disturb_, kStageDisturb}};
  for (const auto& [kernel, name] : kernels) {
    TRY(api_.Check(api_.module_get_function(kernel, module_, name), name));
  }
  return {};
}

Result<void> CudaStage::Allocate(size_t flush_bytes) {
  TRY(api_.Check(api_.mem_alloc(&buffer_, flush_bytes), "allocating the flush buffer"));
  TRY(api_.Check(api_.memset_d8_async(buffer_, 0, flush_bytes, nullptr), "zeroing it"));
  TRY(api_.Check(api_.mem_alloc(&control_buffer_, 2 * kPageBytes), "allocating lines to compare"));
  TRY(api_.Check(api_.memset_d8_async(control_buffer_, 0, 2 * kPageBytes, nullptr), "zeroing"));
  control_ = (control_buffer_ + kPageBytes - 1) / kPageBytes * kPageBytes;

  const auto share = [&](size_t words, volatile uint32_t** host,
                         cu::Pointer* device) -> Result<void> {
    void* memory = nullptr;
    TRY(api_.Check(api_.mem_host_alloc(&memory, words * sizeof(uint32_t), cu::kHostAllocDeviceMap),
                   "allocating words that host and device share"));
    *host = static_cast<volatile uint32_t*>(memory);
    for (size_t i = 0; i < words; ++i) (*host)[i] = 0;
    return api_.Check(api_.mem_host_get_device_pointer(device, memory, 0), "mapping such words");
  };
  TRY(share(2, &go_, &go_device_));
  return share(kMaxProbes * kProbeWords, &probed_, &probed_device_);
}

Result<void> CudaStage::PrepareDisturbance(cu::Device device) {
  int shared = 0;
  TRY(api_.Check(api_.device_get_attribute(&shared, cu::kAttributeSharedPerBlock, device),
                 "asking for the shared memory of a block"));
  TRY(api_.Check(api_.func_set_attribute(disturb_, cu::kFunctionDynamicShared, shared),
                 "asking for all shared memory"));
  disturb_shared_ = static_cast<unsigned>(shared);
  return api_.Check(api_.stream_create(&disturbing_, cu::kStreamNonBlocking), "making a stream");
}

CudaStage::~CudaStage() {
  // The process is about to end, or the context is broken: nothing here can be reported usefully.
  for (const cu::Event event : events_) api_.event_destroy(event);
  if (joined_ != nullptr) api_.event_destroy(joined_);
  if (disturbing_ != nullptr) api_.stream_destroy(disturbing_);
  if (go_ != nullptr) api_.mem_free_host(const_cast<uint32_t*>(go_));
  if (probed_ != nullptr) api_.mem_free_host(const_cast<uint32_t*>(probed_));
  if (control_buffer_ != 0) api_.mem_free(control_buffer_);
  if (buffer_ != 0) api_.mem_free(buffer_);
  if (module_ != nullptr) api_.module_unload(module_);
}

Result<void> CudaStage::Launch(cu::Function kernel, unsigned blocks, unsigned threads,
                               void** arguments) {
  return api_.Check(
      api_.launch_kernel(kernel, blocks, 1, 1, threads, 1, 1, 0, stream_, arguments, nullptr),
      "launching the stage's kernel");
}

// A stream hands its access policy on to every kernel launched on it, the flush as well, whose
// lines would then leave the cache before those that it is to evict.
Result<void> CudaStage::ClearAccessPolicy() {
  cu::StreamAttribute attribute;
  if (api_.stream_get_attribute(stream_, cu::kStreamAccessPolicy, &attribute) != cu::kSuccess) {
    if (policies_ == 0) policies_ = -1;
    return {};
  }
  if (attribute.window.bytes == 0) return {};
  policies_ = std::max(int64_t{0}, policies_) + 1;
  attribute.window.bytes = 0;
  return api_.Check(api_.stream_set_attribute(stream_, cu::kStreamAccessPolicy, &attribute),
                    "taking the stream's access policy away");
}

Result<void> CudaStage::Flush() {
  TRY(ClearAccessPolicy());
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
  probed_lines_.clear();
  warm_.clear();
  policies_ = 0;
  joining_ = join_;
  TRY(GrowEvents(static_cast<size_t>(calls) * (joining_ ? 3 : 2)));
  // A set-aside for persisting lines would survive the flush; the device's default is none.
  TRY(api_.Check(api_.ctx_set_limit(cu::kLimitPersistingL2, 0), "clearing the L2 set-aside"));
  TRY(api_.Check(api_.ctx_reset_persisting_l2(), "resetting persisting L2 lines"));
  ++batch_;
  auto limit = static_cast<uint64_t>(hold_ns);
  void* arguments[] = {&go_device_, &batch_, &limit};
  return Launch(hold_, 1, 1, arguments);
}

Result<void> CudaStage::Probe(uint64_t base, std::span<const uint64_t> offsets) {
  if (probed_lines_.size() == kMaxProbes || offsets.size() > kProbedLines) {
    return Fail(ErrorKind::kInput, "more is to be probed than the stage has room for");
  }
  TRY(Flush());
  void* touched[] = {&control_};
  TRY(Launch(touch_, kProbedLines, 32, touched));
  Sample sample{.base = base};
  std::ranges::copy(offsets, sample.offsets.begin());
  auto lines = static_cast<uint32_t>(offsets.size());
  cu::Pointer out = probed_device_ + probed_lines_.size() * kProbeWords * sizeof(uint32_t);
  void* arguments[] = {&sample, &lines, &control_, &out};
  probed_lines_.push_back(offsets.size());
  return Launch(probe_, kProbedLines, 32, arguments);
}

Result<void> CudaStage::BeforeCall() {
  TRY(Flush());
  for (auto& [at, bytes] : warm_) {
    uint64_t vectors = (bytes + 15) / 16;
    void* arguments[] = {&at, &vectors};
    TRY(Launch(warm_kernel_, blocks_, kFlushThreads, arguments));
  }
  warm_.clear();
  TRY(Launch(mark_, 1, 1, nullptr));
  return api_.Check(api_.event_record(events_[next_event_++], stream_), "recording an event");
}

Result<void> CudaStage::Join() {
  if (api_.ctx_record_event != nullptr &&
      api_.ctx_record_event(context_, joined_) == cu::kSuccess) {
    return api_.Check(api_.stream_wait_event(stream_, joined_, 0), "waiting for the context");
  }
  return api_.Check(api_.ctx_synchronize(), "waiting for the context behind a call");
}

Result<void> CudaStage::AfterCall() {
  TRY(api_.Check(api_.event_record(events_[next_event_++], stream_), "recording an event"));
  if (joining_) {
    TRY(Join());
    TRY(api_.Check(api_.event_record(events_[next_event_++], stream_), "recording an event"));
  }
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

Result<Json> CudaStage::Findings() const {
  size_t set_aside = 0;
  TRY(api_.Check(api_.ctx_get_limit(&set_aside, cu::kLimitPersistingL2),
                 "asking for the L2 set-aside"));
  Json joined = Json::MakeArray();
  for (size_t i = 0; joining_ && i < static_cast<size_t>(calls_); ++i) {
    joined.Push(TRY(Elapsed(3 * i + 1, 3 * i + 2)));
  }
  Json operands = Json::MakeArray();
  Json hits = Json::MakeArray();
  Json misses = Json::MakeArray();
  for (size_t probe = 0; probe < probed_lines_.size(); ++probe) {
    const volatile uint32_t* const words = probed_ + probe * kProbeWords;
    for (size_t i = 0; i < probed_lines_[probe]; ++i) operands.Push(int64_t{words[i]});
    for (size_t i = 0; i < kProbedLines; ++i) {
      hits.Push(int64_t{words[kProbedLines + i]});
      misses.Push(int64_t{words[2 * kProbedLines + i]});
    }
  }
  return Json::MakeObject()
      .Set("set_aside", static_cast<int64_t>(set_aside))
      .Set("policies", policies_)
      .Set("joined_ns", std::move(joined))
      .Set("probe", Json::MakeObject()
                        .Set("operands", std::move(operands))
                        .Set("hits", std::move(hits))
                        .Set("misses", std::move(misses)));
}

Result<void> CudaStage::Disturb(int percent, uint64_t seed, int64_t limit_ns) {
  const unsigned blocks = std::clamp(units_ * static_cast<unsigned>(percent) / 100, 1U, units_);
  auto limit = static_cast<uint64_t>(limit_ns);
  cu::Pointer sink = buffer_;
  void* arguments[] = {&buffer_, &vectors_, &seed, &limit, &sink};
  return api_.Check(api_.launch_kernel(disturb_, blocks, 1, 1, kDisturbThreads, 1, 1,
                                       disturb_shared_, disturbing_, arguments, nullptr),
                    "launching a disturbance");
}

Result<double> CudaStage::Elapsed(size_t from, size_t to) const {
  float ms = 0;
  TRY(api_.Check(api_.event_elapsed_ms(&ms, events_[from], events_[to]), "reading events"));
  return static_cast<double>(ms) * 1e6;
}

Result<std::vector<double>> CudaStage::EventTimes() const {
  std::vector<double> event_ns;
  const size_t each = joining_ ? 3 : 2;
  for (size_t i = 0; i < static_cast<size_t>(calls_); ++i) {
    event_ns.push_back(TRY(Elapsed(each * i, each * i + each - 1)));
  }
  return event_ns;
}

}  // namespace roofmark::device
