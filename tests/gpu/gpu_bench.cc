// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_bench.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "device/cuda_libraries.h"

namespace roofmark::gpu {

void GpuTest::SetUp() {
  auto opened = device::CudaDevice::Open();
  if (opened) {
    device_ = std::move(*opened);
    return;
  }
  const char* required = std::getenv("ROOFMARK_REQUIRE_GPU");
  if (required != nullptr && std::string(required) == "1") FAIL() << opened.error().message();
  GTEST_SKIP() << opened.error().message();
}

std::vector<std::string> MeterEnvironment() {
  std::vector<std::string> environment;
  if (const auto meter = device::FindMeter()) {
    environment.push_back("CUDA_INJECTION64_PATH=" + meter->string());
  }
  if (const auto cupti = device::FindCudaLibrary(device::CudaLibrary::kCupti)) {
    environment.push_back("ROOFMARK_CUPTI=" + cupti->string());
  }
  return environment;
}

Result<std::string> Start(std::vector<std::string> role_and_arguments, Injection injection,
                          double timeout_s) {
  role_and_arguments.insert(role_and_arguments.begin(), fs::canonical("/proc/self/exe").string());
  const CommandResult result =
      TRY(RunCommand(role_and_arguments, {.timeout_s = timeout_s,
                                          .extra_environment = injection == Injection::kMeter
                                                                   ? MeterEnvironment()
                                                                   : std::vector<std::string>()}));
  if (result.exit_code == 0) return result.out;
  return Fail(ErrorKind::kDevice, fmt::format("{} left with {}: {}", role_and_arguments[1],
                                              result.exit_code, result.err));
}

Result<void> WorkerSide::Check(int status) const {
  if (status == 0) return {};
  return Fail(ErrorKind::kDevice, error());
}

Result<WorkerSide> OpenWorkerSide() {
  const fs::path meter = TRY(device::FindMeter());
  void* library = ::dlopen(meter.c_str(), RTLD_NOW);
  if (library == nullptr) return Fail(ErrorKind::kDevice, ::dlerror());
  WorkerSide side;
  const auto bind = [library](auto*& slot, const char* name) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(::dlsym(library, name));
  };
  bind(side.stage_open, "roofmark_stage_open");
  bind(side.stage_begin, "roofmark_stage_begin");
  bind(side.stage_probe, "roofmark_stage_probe");
  bind(side.stage_warm, "roofmark_stage_warm");
  bind(side.stage_disturb, "roofmark_stage_disturb");
  bind(side.stage_findings, "roofmark_stage_findings");
  bind(side.stage_before, "roofmark_stage_before");
  bind(side.stage_after, "roofmark_stage_after");
  bind(side.stage_end, "roofmark_stage_end");
  bind(side.stage_go, "roofmark_stage_go");
  bind(side.stage_times, "roofmark_stage_times");
  bind(side.meter_start, "roofmark_meter_start");
  bind(side.meter_discard, "roofmark_meter_discard");
  bind(side.meter_drain, "roofmark_meter_drain");
  bind(side.error, "roofmark_error");
  return side;
}

Result<Batch> RunBatch(const WorkerSide& side, device::cu::Stream stream, int calls,
                       Metering metering, const std::function<void(int)>& call,
                       const std::function<Result<void>(int)>& ahead) {
  constexpr uint64_t kHoldNs = 200'000'000;
  Batch batch;
  batch.event_ns.resize(static_cast<size_t>(calls));
  if (metering == Metering::kOn) {
    side.meter_discard();  // it never stops, so it also saw batches that nobody reads
    side.meter_start();
  }
  TRY(side.Check(side.stage_begin(stream, calls, kHoldNs)));
  for (int i = 0; i < calls; ++i) {
    if (ahead) TRY(ahead(i));
    TRY(side.Check(side.stage_before()));
    call(i);
    TRY(side.Check(side.stage_after()));
  }
  TRY(side.Check(side.stage_end()));
  const auto start = std::chrono::steady_clock::now();
  TRY(side.Check(side.stage_go()));
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
  batch.host_ns = took.count();
  int held = 0;
  TRY(side.Check(side.stage_times(batch.event_ns.data(), &held)));
  batch.held = held != 0;
  if (metering == Metering::kOn) batch.testimony = side.meter_drain();
  return batch;
}

Result<gate::Timeline> TimelineOf(const Batch& batch, const std::string& stage_hash, int calls) {
  const auto report = TRY(gate::ParseMeterReport(TRY(Json::Parse(batch.testimony))));
  return gate::CutIntoCalls(report, stage_hash, static_cast<size_t>(calls), {});
}

std::vector<double> SpansOf(const gate::Timeline& timeline) {
  std::vector<double> spans;
  for (const gate::CallSpan& one : timeline.calls) spans.push_back(one.device_ns);
  return spans;
}

Result<device::CudaApi> OpenDriver() {
  const device::CudaApi api = TRY(device::LoadCudaApi());
  TRY(api.Check(api.init(0), "initialising"));
  device::cu::Context context = nullptr;
  TRY(api.Check(api.primary_ctx_retain(&context, 0), "opening the device"));
  TRY(api.Check(api.ctx_set_current(context), "using the device"));
  return api;
}

}  // namespace roofmark::gpu
