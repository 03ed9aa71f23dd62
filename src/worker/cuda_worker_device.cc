// SPDX-License-Identifier: Apache-2.0
#include "worker/cuda_worker_device.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <limits>
#include <map>

#include "base/hex.h"
#include "device/cuda_graphs.h"
#include "device/cuda_import.h"
#include "device/cuda_stage.h"

namespace roofmark::worker {
namespace {

namespace cu = device::cu;

constexpr int32_t kDlCuda = 2;

// The injected meter's C interface (meter/worker_api.h); all null when nothing was injected.
struct InjectedMeter {
  void (*start)() = nullptr;
  void (*discard)() = nullptr;
  const char* (*drain)() = nullptr;
  void (*watch_start)() = nullptr;
  const char* (*watch_stop)() = nullptr;
};

InjectedMeter FindMeter() {
  InjectedMeter meter;
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return meter;
  // The driver has it open already; this only finds it again.
  void* library = ::dlopen(path, RTLD_NOW);
  if (library == nullptr) return meter;
  meter.start = reinterpret_cast<void (*)()>(::dlsym(library, "roofmark_meter_start"));
  meter.discard = reinterpret_cast<void (*)()>(::dlsym(library, "roofmark_meter_discard"));
  meter.drain = reinterpret_cast<const char* (*)()>(::dlsym(library, "roofmark_meter_drain"));
  meter.watch_start = reinterpret_cast<void (*)()>(::dlsym(library, "roofmark_watch_start"));
  meter.watch_stop = reinterpret_cast<const char* (*)()>(::dlsym(library, "roofmark_watch_stop"));
  if (meter.start == nullptr || meter.discard == nullptr || meter.drain == nullptr ||
      meter.watch_start == nullptr || meter.watch_stop == nullptr) {
    meter = {};
  }
  return meter;
}

class CudaWorkerDevice final : public WorkerDevice {
 public:
  static Result<std::unique_ptr<WorkerDevice>> Open();

  int32_t device_type() const override { return kDlCuda; }
  void* stream() const override { return stream_; }
  Result<void*> Map(int fd, Access access, int64_t bytes) override;
  Result<void> Unmap(void* at, int64_t bytes) override;
  Result<void> Synchronise() override;
  Result<Json> Batch(const Json& request, size_t calls,
                     const std::function<Result<void>(size_t)>& call) override;
  Result<Json> Fit(const Json& request, const std::function<Result<void>()>& call) override;
  Json Versions() override;

 private:
  Result<Json> Watch(const std::function<Result<void>()>& call);
  Result<Json> Stage(const Json& request);
  Result<Json> Queue(const Json& request, size_t calls,
                     const std::function<Result<void>(size_t)>& call);
  Result<void> BeforeCall(const Json& call);
  Result<Json> Go();
  Result<Json> Read();
  Result<Json> Disturb(const Json& request);

  device::CudaApi api_;
  cu::Device device_ = 0;
  cu::Stream stream_ = nullptr;
  InjectedMeter meter_;
  std::map<void*, std::unique_ptr<device::CudaMapping>> mappings_;
  std::unique_ptr<device::CudaStage> stage_;
  std::unique_ptr<device::CudaGraphs> graphs_;
};

Result<std::unique_ptr<WorkerDevice>> CudaWorkerDevice::Open() {
  auto opened = std::make_unique<CudaWorkerDevice>();
  opened->api_ = TRY(device::LoadCudaApi());
  const device::CudaApi& api = opened->api_;
  TRY(api.Check(api.init(0), "initialising in the worker"));
  TRY(api.Check(api.device_get(&opened->device_, 0), "finding the device"));
  // The primary context is the one that the candidate's CUDA runtime uses.
  cu::Context context = nullptr;
  TRY(api.Check(api.primary_ctx_retain(&context, opened->device_), "opening the device"));
  TRY(api.Check(api.ctx_set_current(context), "using the device"));
  // What a call frees stays in the pool for the next one, as in a server that has set this up; by
  // default each wait for the device gives it back to the driver, which then is the call's cost.
  cu::MemoryPool pool = nullptr;
  uint64_t everything = std::numeric_limits<uint64_t>::max();
  TRY(api.Check(api.device_get_default_mem_pool(&pool, opened->device_), "finding its pool"));
  TRY(api.Check(api.mem_pool_set_attribute(pool, cu::kPoolReleaseThreshold, &everything),
                "keeping the pool"));
  // Work on the legacy default stream is not ordered with this one: candidates must use what they
  // are given.
  TRY(api.Check(api.stream_create(&opened->stream_, cu::kStreamNonBlocking), "making a stream"));
  opened->meter_ = FindMeter();
  opened->graphs_ = std::make_unique<device::CudaGraphs>(api);
  return opened;
}

Result<void*> CudaWorkerDevice::Map(int fd, Access access, int64_t bytes) {
  const auto map_access =
      access == Access::kRead ? device::MapAccess::kRead : device::MapAccess::kReadWrite;
  auto mapping =
      TRY(device::CudaMapping::Import(api_, fd, static_cast<size_t>(bytes), map_access, device_));
  void* const at = reinterpret_cast<void*>(mapping->address());
  mappings_[at] = std::move(mapping);
  return at;
}

Result<void> CudaWorkerDevice::Unmap(void* at, int64_t /*bytes*/) {
  graphs_->Clear();
  if (mappings_.erase(at) == 1) return {};
  return Fail(ErrorKind::kInput, "no arena is mapped there");
}

Result<void> CudaWorkerDevice::Synchronise() {
  const cu::Status status = api_.ctx_synchronize();
  // What ran until here belongs to a call that is not timed.
  if (meter_.discard != nullptr) meter_.discard();
  if (status == cu::kSuccess) return {};
  std::string message = "the candidate's work on the GPU failed: " + api_.Describe(status);
  if (status == cu::kIllegalAddress) {
    message += " (a read outside its operands, or a write to an input, which is read-only)";
  }
  return Fail(ErrorKind::kInput, std::move(message));
}

Result<Json> CudaWorkerDevice::Batch(const Json& request, size_t calls,
                                     const std::function<Result<void>(size_t)>& call) {
  const std::string phase = TRY(request.String("phase"));
  if (phase == "stage") return Stage(request);
  if (stage_ == nullptr) return Fail(ErrorKind::kInput, "batch: the stage is not set");
  if (phase == "queue") return Queue(request, calls, call);
  if (phase == "go") return Go();
  if (phase == "read") return Read();
  if (phase == "disturb") return Disturb(request);
  return Fail(ErrorKind::kInput, "batch: no such phase: " + phase);
}

Result<Json> CudaWorkerDevice::Stage(const Json& request) {
  const auto cubin = FromHex(TRY(request.String("cubin")));
  if (!cubin) return Fail(ErrorKind::kInput, "the stage's cubin is not hexadecimal");
  stage_ = TRY(device::CudaStage::Load(api_, *cubin, TRY(request.Int("flush_bytes"))));
  if (meter_.start != nullptr) meter_.start();  // and from here on it never stops
  return Json::MakeObject();
}

Result<Json> CudaWorkerDevice::Disturb(const Json& request) {
  TRY(stage_->Disturb(static_cast<int>(TRY(request.Int("percent"))),
                      static_cast<uint64_t>(TRY(request.Int("seed"))),
                      TRY(request.Int("limit_ns"))));
  return Json::MakeObject();
}

Result<void> CudaWorkerDevice::BeforeCall(const Json& call) {
  if (const Json* const probe = call.Find("probe"); probe != nullptr) {
    std::vector<uint64_t> offsets;
    for (const Json& offset : TRY(probe->ArrayAt("offsets"))->array()) {
      offsets.push_back(static_cast<uint64_t>(offset.as_int()));
    }
    TRY(stage_->Probe(static_cast<uint64_t>(TRY(probe->Int("base"))), offsets));
  }
  if (const Json* const warm = call.Find("warm"); warm != nullptr) {
    for (const Json& range : warm->array()) {
      stage_->KeepWarm(static_cast<cu::Pointer>(range.array()[0].as_int()),
                       static_cast<uint64_t>(range.array()[1].as_int()));
    }
  }
  return stage_->BeforeCall();
}

Result<Json> CudaWorkerDevice::Queue(const Json& request, size_t calls,
                                     const std::function<Result<void>(size_t)>& call) {
  const bool skip = TRY(request.Bool("skip"));
  const bool graph = !skip && request.Find("graph") != nullptr && TRY(request.Bool("graph"));
  std::vector<std::string> keys;
  const Json::Array& named_calls = TRY(request.ArrayAt("calls"))->array();
  for (const Json& named : named_calls) {
    keys.push_back(TRY(named.String("in")) + " " + TRY(named.String("out")));
  }
  for (size_t i = 0; graph && i < calls; ++i) {
    if (graphs_->Has(keys[i])) continue;
    TRY(graphs_->Capture(keys[i], stream_, [&] { return call(i); }));
  }
  if (meter_.start != nullptr) meter_.start();
  const auto start = std::chrono::steady_clock::now();
  stage_->JoinContext(request.Find("join") != nullptr && TRY(request.Bool("join")));
  TRY(stage_->Begin(stream_, static_cast<int>(calls), TRY(request.Int("hold_ns"))));
  for (size_t i = 0; i < calls; ++i) {
    TRY(BeforeCall(named_calls[i]));
    if (graph) {
      TRY(graphs_->Launch(keys[i], stream_));
    } else if (!skip) {
      TRY(call(i));
    }
    TRY(stage_->AfterCall());
  }
  TRY(stage_->End());
  const auto took = std::chrono::steady_clock::now() - start;
  return Json::MakeObject().Set(
      "queue_ns", int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(took).count()});
}

Result<Json> CudaWorkerDevice::Go() {
  if (const auto ran = stage_->Go(); !ran) {
    TRY(Synchronise());
    return std::unexpected(ran.error());
  }
  return Json::MakeObject().Set("held", stage_->held());
}

Result<Json> CudaWorkerDevice::Read() {
  Json events = Json::MakeArray();
  for (const double ns : TRY(stage_->EventTimes())) events.Push(ns);
  Json reply = Json::MakeObject();
  reply.Set("event_ns", std::move(events)).Set("stage", TRY(stage_->Findings()));
  if (meter_.drain != nullptr) reply.Set("meter", TRY(Json::Parse(meter_.drain())));
  return reply;
}

Result<Json> CudaWorkerDevice::Watch(const std::function<Result<void>()>& call) {
  if (meter_.watch_start == nullptr) {
    return Json::MakeObject().Set("watched",
                                  Json::MakeObject().Set("fault", "no meter was injected"));
  }
  meter_.watch_start();
  const Result<void> ran = call();
  Json watched = TRY(Json::Parse(meter_.watch_stop()));
  TRY(ran);
  TRY(Synchronise());
  return Json::MakeObject().Set("watched", std::move(watched));
}

Result<Json> CudaWorkerDevice::Fit(const Json& request, const std::function<Result<void>()>& call) {
  const std::string phase = TRY(request.String("phase"));
  const std::string key = "fit";
  if (phase == "watch") return Watch(call);
  if (phase == "capture") {
    const Result<void> captured = graphs_->Capture(key, stream_, call);
    return Json::MakeObject()
        .Set("captured", captured.has_value())
        .Set("why", captured ? "" : captured.error().message());
  }
  if (phase != "replay" || !graphs_->Has(key)) {
    return Fail(ErrorKind::kInput, "fit: nothing to do in phase " + phase);
  }
  TRY(graphs_->Launch(key, stream_));
  TRY(Synchronise());
  return Json::MakeObject();
}

Json CudaWorkerDevice::Versions() {
  int version = 0;
  if (api_.driver_get_version(&version) != cu::kSuccess) version = 0;
  return Json::MakeObject()
      .Set("cuda_driver",
           std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10))
      .Set("meter", meter_.start == nullptr ? "none" : "injected");
}

}  // namespace

Result<std::unique_ptr<WorkerDevice>> OpenCudaWorkerDevice() {
  return CudaWorkerDevice::Open();
}

}  // namespace roofmark::worker
