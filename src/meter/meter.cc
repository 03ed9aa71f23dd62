// SPDX-License-Identifier: Apache-2.0
#include "meter/meter.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "meter/cubin.h"
#include "meter/loader_trace.h"

namespace roofmark::meter {
namespace {

// CUPTI asks for 8-byte aligned buffers; 4 MiB hold some 20 000 kernels.
constexpr size_t kBufferBytes = size_t{4} << 20;
constexpr size_t kMaxCallers = 6;
// Frames of one launch, and stacks that are kept: libraries launch from a handful of places.
constexpr size_t kMaxFrames = 24;
constexpr size_t kMaxStacks = 16;

// Functions of the driver, through which every launch goes: cuLaunchKernelEx, cuGraphLaunch, ...
bool Launches(std::string_view function) {
  return function.starts_with("cuLaunch") || function.starts_with("cuGraphLaunch");
}

}  // namespace

Meter& Meter::Instance() {
  // Never destroyed: CUPTI may still call back while the process exits.
  static Meter* const meter = new Meter;  // NOLINT(cppcoreguidelines-owning-memory)
  return *meter;
}

void Meter::Fault(const char* what, cupti::Status status) {
  if (!fault_.empty()) return;
  const char* text = nullptr;
  if (api_.result_string != nullptr) api_.result_string(status, &text);
  fault_ = std::string(what) + ": " + (text == nullptr ? "CUPTI error" : text) + " (" +
           std::to_string(status) + ")";
}

void Meter::Attach() {
  const std::lock_guard lock(mutex_);
  if (attached_) return;
  attached_ = true;
  api_ = LoadCupti();
  fault_ = api_.fault;
  if (!fault_.empty()) return;
  if (const auto status = api_.subscribe(&subscriber_, &Meter::OnCallback, this); status != 0) {
    return Fault("subscribing to CUPTI (is another profiler attached?)", status);
  }
  if (const auto status =
          api_.enable_callback(1, subscriber_, cupti::kDomainResource, cupti::kModuleLoaded);
      status != 0) {
    return Fault("watching module loads", status);
  }
  WatchConditionals();
  if (const auto status =
          api_.register_callbacks(&Meter::OnBufferRequested, &Meter::OnBufferCompleted);
      status != 0) {
    Fault("registering activity buffers", status);
  }
}

// Kernels in the bodies of conditional nodes may go unreported, so that there are such nodes is
// told. A CUPTI that does not know the function is older than they are.
void Meter::WatchConditionals() {
  api_.enable_callback(1, subscriber_, cupti::kDomainDriver, cupti::kConditionalHandleCreate);
}

void Meter::Start() {
  Attach();
  Flush();
  {
    const std::lock_guard lock(mutex_);
    outside_ = operations_.size();
    outside_name_ = operations_.empty() ? "" : names_[operations_.front().name];
    operations_.clear();
    dropped_ = 0;
    if (!fault_.empty() || recording_) return;
    recording_ = true;
  }
  for (const int kind : {cupti::kKindConcurrentKernel, cupti::kKindMemcpy, cupti::kKindMemcpyPeer,
                         cupti::kKindMemset}) {
    if (const auto status = api_.activity_enable(kind); status != 0) {
      const std::lock_guard lock(mutex_);
      Fault("enabling activity records", status);
    }
  }
}

// Flushing calls OnBufferCompleted on this thread, which takes the lock itself.
void Meter::Flush() {
  if (api_.flush_all == nullptr || !fault_.empty() || !recording_) return;
  if (const auto status = api_.flush_all(cupti::kFlushForced); status != 0) {
    const std::lock_guard lock(mutex_);
    Fault("flushing activity records", status);
  }
}

void Meter::Discard() {
  Flush();
  const std::lock_guard lock(mutex_);
  operations_.clear();
}

Testimony Meter::Drain() {
  Flush();
  const std::lock_guard lock(mutex_);
  Testimony testimony;
  testimony.fault = fault_;
  testimony.names = names_;
  testimony.modules = modules_;
  testimony.module_count = modules_.size();
  testimony.operations = std::exchange(operations_, {});
  testimony.dropped = std::exchange(dropped_, 0);
  testimony.outside = std::exchange(outside_, 0);
  testimony.outside_name = std::exchange(outside_name_, {});
  testimony.conditionals = conditionals_;
  for (const std::string& name : names_) {
    const auto found = modules_by_kernel_.find(name);
    testimony.name_modules.push_back(found == modules_by_kernel_.end() ? std::vector<uint32_t>()
                                                                       : found->second);
  }
  return testimony;
}

// Not under the lock: calls that are under way on other threads may hold CUPTI and wait for us.
void Meter::WatchDomains(bool on) {
  for (const int domain : {cupti::kDomainDriver, cupti::kDomainRuntime}) {
    if (const auto status = api_.enable_domain(on ? 1 : 0, subscriber_, domain); status != 0) {
      const std::lock_guard lock(mutex_);
      Fault("watching calls of CUDA", status);
    }
  }
  if (!on) WatchConditionals();
}

void Meter::StartWatching() {
  Attach();
  {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    stacks_.clear();
    if (!fault_.empty()) return;
  }
  WatchDomains(true);
}

Watched Meter::StopWatching() {
  if (api_.enable_domain != nullptr && subscriber_ != nullptr) WatchDomains(false);
  const std::lock_guard lock(mutex_);
  return {
      .fault = fault_, .calls = std::exchange(calls_, {}), .stacks = std::exchange(stacks_, {})};
}

void Meter::AddCall(int domain, uint32_t id, const cupti::ApiData& call) {
  if (call.site != cupti::kApiEnter || call.function == nullptr) return;
  if (domain == cupti::kDomainDriver && id == cupti::kConditionalHandleCreate) {
    const std::lock_guard lock(mutex_);
    ++conditionals_;
  }
  std::vector<std::string> stack;
  if (domain == cupti::kDomainDriver && Launches(call.function)) {
    stack = CallingFunctions(kMaxFrames);
  }
  const std::lock_guard lock(mutex_);
  ++calls_[call.function];
  if (stack.empty() || stacks_.size() >= kMaxStacks) return;
  if (std::ranges::find(stacks_, stack) == stacks_.end()) stacks_.push_back(std::move(stack));
}

void Meter::OnCallback(void* user, int domain, uint32_t id, const void* data) {
  if ((domain == cupti::kDomainDriver || domain == cupti::kDomainRuntime) && data != nullptr) {
    return static_cast<Meter*>(user)->AddCall(domain, id,
                                              *static_cast<const cupti::ApiData*>(data));
  }
  if (domain != cupti::kDomainResource || id != cupti::kModuleLoaded || data == nullptr) return;
  const auto* resource = static_cast<const cupti::ResourceData*>(data);
  const auto* module = static_cast<const cupti::ModuleData*>(resource->descriptor);
  if (module == nullptr || module->cubin == nullptr) return;
  static_cast<Meter*>(user)->AddModule({module->cubin, module->cubin_size});
}

void Meter::AddModule(std::string_view cubin) {
  ModuleRecord record;
  record.sha256 = CubinHash(cubin);
  record.bytes = cubin.size();
  record.callers = CallingObjects(kMaxCallers);
  if (!record.callers.empty()) record.loader = record.callers.front();
  const CubinNames kernels = ReadCubinNames(cubin);
  record.unreadable = !kernels.plain;
  record.brought = ProgramMayWrite(record.loader);

  const std::lock_guard lock(mutex_);
  const auto index = static_cast<uint32_t>(modules_.size());
  modules_.push_back(std::move(record));
  for (const std::string& kernel : kernels.names) modules_by_kernel_[kernel].push_back(index);
}

void Meter::OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));  // NOLINT: CUPTI owns it
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *max_records = 0;
}

void Meter::OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t /*size*/,
                              size_t valid) {
  Instance().AddRecords(context, stream, buffer, valid);
  std::free(buffer);  // NOLINT: the pair of OnBufferRequested
}

void Meter::AddRecords(void* context, uint32_t stream, uint8_t* buffer, size_t valid) {
  size_t dropped = 0;
  if (api_.dropped_records(context, stream, &dropped) != 0) dropped = 0;
  const std::lock_guard lock(mutex_);
  dropped_ += dropped;
  void* record = nullptr;
  while (valid > 0 && api_.next_record(buffer, valid, &record) == 0) AddRecord(record);
}

void Meter::AddRecord(const void* record) {
  OperationRecord operation;
  switch (*static_cast<const int32_t*>(record)) {
    case cupti::kKindConcurrentKernel: {
      const auto* kernel = static_cast<const cupti::ActivityKernel*>(record);
      operation = {.kind = OperationKind::kKernel,
                   .name = NameIndex(kernel->name),
                   .start_ns = kernel->start,
                   .end_ns = kernel->end,
                   .stream = kernel->stream_id,
                   .correlation = kernel->correlation_id};
      break;
    }
    case cupti::kKindMemcpy:
    case cupti::kKindMemcpyPeer: {
      const auto* copy = static_cast<const cupti::ActivityMemcpy*>(record);
      operation = {.kind = OperationKind::kMemcpy,
                   .name = NameIndex("memcpy"),
                   .start_ns = copy->start,
                   .end_ns = copy->end,
                   .stream = copy->stream_id,
                   .bytes = copy->copy_kind == cupti::kDeviceToDevice ? copy->bytes : 0};
      break;
    }
    case cupti::kKindMemset: {
      const auto* set = static_cast<const cupti::ActivityMemset*>(record);
      operation = {.kind = OperationKind::kMemset,
                   .name = NameIndex("memset"),
                   .start_ns = set->start,
                   .end_ns = set->end,
                   .stream = set->stream_id};
      break;
    }
    default:
      return;
  }
  operations_.push_back(operation);
}

uint32_t Meter::NameIndex(const char* name) {
  const auto [at, added] =
      name_index_.try_emplace(name == nullptr ? "?" : name, static_cast<uint32_t>(names_.size()));
  if (added) names_.push_back(at->first);
  return at->second;
}

}  // namespace roofmark::meter
