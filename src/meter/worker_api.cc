// SPDX-License-Identifier: Apache-2.0
#include "meter/worker_api.h"

#include <map>
#include <memory>
#include <span>
#include <string>

#include "device/cuda_import.h"
#include "device/cuda_stage.h"
#include "meter/meter.h"

namespace roofmark::meter {
namespace {

// What one worker process holds. A C interface without handles needs one place for it.
struct WorkerState {
  device::CudaApi api;
  device::cu::Device device = 0;
  bool open = false;
  std::map<uint64_t, std::unique_ptr<device::CudaMapping>> mappings;
  std::unique_ptr<device::CudaStage> stage;
  std::string testimony;
  std::string watched;
  std::string findings;
};

WorkerState& State() {
  // Never destroyed: the driver may be gone before static destructors run.
  static WorkerState* const state = new WorkerState;  // NOLINT(cppcoreguidelines-owning-memory)
  return *state;
}

std::string& LastError() {
  thread_local std::string text;
  return text;
}

int Fails(std::string text) {
  LastError() = std::move(text);
  return 1;
}

template <typename T>
int Done(const Result<T>& result) {
  return result ? 0 : Fails(result.error().message());
}

Result<void> Open() {
  WorkerState& state = State();
  if (!state.open) {
    state.api = TRY(device::LoadCudaApi());
    TRY(state.api.Check(state.api.init(0), "initialising"));
    TRY(state.api.Check(state.api.device_get(&state.device, 0), "finding the device"));
    device::cu::Context context = nullptr;
    TRY(state.api.Check(state.api.primary_ctx_retain(&context, state.device),
                        "opening the device"));
    TRY(state.api.Check(state.api.ctx_set_current(context), "using the device"));
    state.open = true;
  }
  return {};
}

Result<uint64_t> MapArena(int fd, uint64_t bytes, device::MapAccess access) {
  TRY(Open());
  WorkerState& state = State();
  auto mapping = TRY(device::CudaMapping::Import(state.api, fd, bytes, access, state.device));
  const uint64_t address = mapping->address();
  state.mappings[address] = std::move(mapping);
  return address;
}

Result<void> OpenStage(const std::string& cubin, uint64_t flush_bytes) {
  TRY(Open());
  State().stage =
      TRY(device::CudaStage::Load(State().api, cubin, static_cast<int64_t>(flush_bytes)));
  return {};
}

}  // namespace
}  // namespace roofmark::meter

using roofmark::meter::Done;
using roofmark::meter::Fails;
using roofmark::meter::Meter;
using roofmark::meter::State;

int InitializeInjection(void) {
  Meter::Instance().Attach();
  return 1;
}

const char* roofmark_error(void) {
  return roofmark::meter::LastError().c_str();
}

int roofmark_cuda_open(void) {
  return Done(roofmark::meter::Open());
}

int roofmark_cuda_map(int fd, uint64_t bytes, int writable, uint64_t* address) {
  using roofmark::device::MapAccess;
  const auto mapped = roofmark::meter::MapArena(
      fd, bytes, writable != 0 ? MapAccess::kReadWrite : MapAccess::kRead);
  if (mapped) *address = *mapped;
  return Done(mapped);
}

int roofmark_cuda_unmap(uint64_t address) {
  return State().mappings.erase(address) == 1 ? 0 : Fails("no arena is mapped at this address");
}

int roofmark_cuda_synchronize(void) {
  if (!State().open) return Fails("CUDA is not open");
  return Done(State().api.Check(State().api.ctx_synchronize(), "waiting for the device"));
}

int roofmark_stage_open(const char* cubin, uint64_t cubin_bytes, uint64_t flush_bytes) {
  return Done(roofmark::meter::OpenStage(std::string(cubin, cubin_bytes), flush_bytes));
}

int roofmark_stage_begin(void* stream, int calls, uint64_t hold_ns) {
  if (State().stage == nullptr) return Fails("the stage is not open");
  return Done(State().stage->Begin(static_cast<roofmark::device::cu::Stream>(stream), calls,
                                   static_cast<int64_t>(hold_ns)));
}

int roofmark_stage_join(int join) {
  if (State().stage == nullptr) return Fails("the stage is not open");
  State().stage->JoinContext(join != 0);
  return 0;
}

int roofmark_stage_probe(uint64_t base, const uint64_t* offsets, uint64_t count) {
  return State().stage == nullptr ? Fails("the stage is not open")
                                  : Done(State().stage->Probe(base, std::span(offsets, count)));
}

int roofmark_stage_warm(uint64_t address, uint64_t bytes) {
  if (State().stage == nullptr) return Fails("the stage is not open");
  State().stage->KeepWarm(address, bytes);
  return 0;
}

int roofmark_stage_before(void) {
  return State().stage == nullptr ? Fails("the stage is not open")
                                  : Done(State().stage->BeforeCall());
}

int roofmark_stage_after(void) {
  return State().stage == nullptr ? Fails("the stage is not open")
                                  : Done(State().stage->AfterCall());
}

int roofmark_stage_end(void) {
  return State().stage == nullptr ? Fails("the stage is not open") : Done(State().stage->End());
}

int roofmark_stage_go(void) {
  return State().stage == nullptr ? Fails("the stage is not open") : Done(State().stage->Go());
}

int roofmark_stage_times(double* event_ns, int* held) {
  if (State().stage == nullptr) return Fails("the stage is not open");
  const auto times = State().stage->EventTimes();
  if (times) {
    for (const double time : *times) *event_ns++ = time;
    *held = State().stage->held() ? 1 : 0;
  }
  return Done(times);
}

const char* roofmark_stage_findings(void) {
  if (State().stage == nullptr) {
    Fails("the stage is not open");
    return nullptr;
  }
  const auto findings = State().stage->Findings();
  if (Done(findings) != 0) return nullptr;
  State().findings = findings->Dump();
  return State().findings.c_str();
}

int roofmark_stage_disturb(int percent, uint64_t seed, uint64_t limit_ns) {
  if (State().stage == nullptr) return Fails("the stage is not open");
  return Done(State().stage->Disturb(percent, seed, static_cast<int64_t>(limit_ns)));
}

void roofmark_meter_start(void) {
  Meter::Instance().Start();
}

void roofmark_meter_discard(void) {
  Meter::Instance().Discard();
}

const char* roofmark_meter_drain(void) {
  State().testimony = roofmark::meter::TestimonyToJson(Meter::Instance().Drain());
  return State().testimony.c_str();
}

void roofmark_watch_start(void) {
  Meter::Instance().StartWatching();
}

const char* roofmark_watch_stop(void) {
  State().watched = roofmark::meter::WatchedToJson(Meter::Instance().StopWatching());
  return State().watched.c_str();
}
