// SPDX-License-Identifier: Apache-2.0
#include "gate/cpu_stopwatch.h"

#include <fmt/format.h>
#include <immintrin.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/hash.h"
#include "base/text.h"
#include "device/cpu_arena.h"
#include "gate/reference.h"
#include "worker/bell.h"
#include "worker/cpu_sampler.h"

namespace roofmark::gate {
namespace {

constexpr const char* kBellArena = "bell";
// Empty rings before each call: they wake the worker's core and measure what a ring itself costs.
constexpr int kEmptyRings = 4;
// Secret positions of each output that must not be poison when run has returned.
constexpr int kProbes = 64;

int64_t Now(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

class CpuStopwatch final : public Stopwatch {
 public:
  CpuStopwatch() : random_(static_cast<uint64_t>(RandomSeed())) {}

  Result<worker::Answer<void>> Prepare(worker::Worker& worker,
                                       const Provenance& provenance) override;
  Result<worker::Answer<BatchTimes>> Time(worker::Worker& worker, std::span<const TimedCall> calls,
                                          const std::string& workspace, double timeout_s) override;
  std::string ClockFault(const Clocks& clocks) const override;

 private:
  worker::Bell& bell() {
    return *reinterpret_cast<worker::Bell*>(bell_->memory().data() +
                                            bell_->layout().places[0].offset);
  }
  // Rings and waits; nanoseconds by the judge's clock, or nothing when the worker died or is late.
  std::optional<double> Ring(uint64_t number, worker::Worker& worker, int64_t deadline);
  std::optional<double> RingEmpty(worker::Worker& worker, int64_t deadline);
  bool TimeCall(uint64_t number, const TimedCall& call, worker::Worker& worker, int64_t deadline,
                BatchTimes* times);
  std::string ProbeOutputs(device::Arena& out);

  Random random_;
  std::unique_ptr<device::CpuArena> bell_;
  Provenance provenance_;
  std::vector<double> empty_ns_;
  uint64_t failed_status_ = 0;
};

Result<worker::Answer<void>> CpuStopwatch::Prepare(worker::Worker& worker,
                                                   const Provenance& provenance) {
  const Tensor page{.name = "bell", .dtype = DType::kU8, .sizes = {4096}};
  bell_ = TRY(device::CpuArena::Make(device::LayOut({&page, 1})));
  provenance_ = provenance;
  const std::array<int, 1> fds = {bell_->fd()};
  worker::Answer<Json> mapped =
      TRY(worker.Ask(MapRequest(kBellArena, *bell_, MapAccess::kReadWrite), 10, fds));
  if (!mapped) return worker::Answer<void>(std::unexpected(std::move(mapped.error())));
  return worker::Answer<void>();
}

std::optional<double> CpuStopwatch::Ring(uint64_t number, worker::Worker& worker,
                                         int64_t deadline) {
  worker::Bell& page = bell();
  const int64_t begin = Now(CLOCK_MONOTONIC);
  page.ring.store(number, std::memory_order_release);
  // The clock and the worker's life are looked at only now and then, to keep the wait tight.
  for (uint64_t spins = 1; page.done.load(std::memory_order_acquire) != number; ++spins) {
    _mm_pause();
    if (spins % 65536 == 0 && (Now(CLOCK_MONOTONIC) > deadline || !worker.alive())) {
      return std::nullopt;
    }
  }
  return static_cast<double>(Now(CLOCK_MONOTONIC) - begin);
}

std::optional<double> CpuStopwatch::RingEmpty(worker::Worker& worker, int64_t deadline) {
  double least = 0;
  for (int i = 0; i < kEmptyRings; ++i) {
    const auto ns = Ring(worker::kBellEmpty | random_.Below(worker::kBellEmpty), worker, deadline);
    if (!ns) return std::nullopt;
    least = i == 0 ? *ns : std::min(least, *ns);
  }
  return least;
}

// A candidate that returns before its work is done leaves poison behind at this moment.
std::string CpuStopwatch::ProbeOutputs(device::Arena& out) {
  const std::span<std::byte> memory = static_cast<device::CpuArena&>(out).memory();
  for (const device::TensorPlace& place : out.layout().places) {
    const auto size = static_cast<uint64_t>(DTypeBytes(place.tensor.dtype));
    const auto elements = static_cast<uint64_t>(place.tensor.Elements());
    for (int i = 0; i < kProbes && elements > 0; ++i) {
      const uint64_t at = i == 0 ? elements - 1 : random_.Below(elements);
      const std::byte* bytes = memory.data() + place.offset + at * size;
      if (std::all_of(bytes, bytes + size,
                      [](std::byte b) { return b == std::byte{device::kPoisonByte}; })) {
        return fmt::format("{}[flat {}] was still unwritten when run returned", place.tensor.name,
                           at);
      }
    }
  }
  return {};
}

bool CpuStopwatch::TimeCall(uint64_t number, const TimedCall& call, worker::Worker& worker,
                            int64_t deadline, BatchTimes* times) {
  device::FlushFromCache(*call.in);
  device::FlushFromCache(*call.out);
  const auto empty = RingEmpty(worker, deadline);
  if (!empty) return false;
  clockid_t task_clock{};
  const bool has_task_clock = ::clock_getcpuclockid(worker.pid(), &task_clock) == 0;
  const int64_t task_begin = has_task_clock ? Now(task_clock) : 0;
  const auto ns = Ring(number, worker, deadline);
  if (!ns) return false;
  const int64_t task_end = has_task_clock ? Now(task_clock) : 0;
  std::string early = ProbeOutputs(*call.out);
  failed_status_ = bell().status.load(std::memory_order_acquire);
  if (failed_status_ != 0) return false;
  const double net = std::max(*ns - *empty, 1.0);
  times->time_ns.push_back(net);
  times->host_ns.push_back(net);
  times->device_ns.push_back(static_cast<double>(bell().worker_ns.load(std::memory_order_acquire)));
  if (has_task_clock) times->event_ns.push_back(static_cast<double>(task_end - task_begin));
  if (times->unsynchronised.empty()) times->unsynchronised = std::move(early);
  return true;
}

Result<worker::Answer<BatchTimes>> CpuStopwatch::Time(worker::Worker& worker,
                                                      std::span<const TimedCall> calls,
                                                      const std::string& workspace,
                                                      double timeout_s) {
  Json list = Json::MakeArray();
  for (const TimedCall& call : calls) {
    list.Push(Json::MakeObject().Set("in", call.in_name).Set("out", call.out_name));
  }
  bell().ring.store(0);
  bell().done.store(0);
  bell().status.store(0);
  TRY(worker.Send(Json::MakeObject()
                      .Set("do", "bell")
                      .Set("calls", std::move(list))
                      .Set("bell", kBellArena)
                      .Set("workspace", workspace)));
  const int64_t deadline = Now(CLOCK_MONOTONIC) + static_cast<int64_t>(timeout_s * 1e9);
  worker::CpuSampler sampler = worker::CpuSampler::Start(worker.pid());
  BatchTimes times;
  failed_status_ = 0;
  bool finished = true;
  for (size_t i = 0; i < calls.size() && finished; ++i) {
    finished = TimeCall(i + 1, calls[i], worker, deadline, &times);
  }
  const worker::CpuProfile profile = sampler.Stop(provenance_.lane, provenance_.path);
  bell().ring.store(worker::kBellStop, std::memory_order_release);
  worker::Answer<Json> reply = TRY(worker.Receive(finished ? 10 : 0.1));
  if (!reply) return worker::Answer<BatchTimes>(std::unexpected(std::move(reply.error())));
  if (failed_status_ != 0) {
    return worker::Answer<BatchTimes>(std::unexpected(
        worker::Mishap{Outcome::kRuntimeError,
                       fmt::format("run returned {}", static_cast<int64_t>(failed_status_))}));
  }
  times.owner_ns = profile.owner_ns;
  times.kernels = profile.objects;
  times.level = profile.level;
  return worker::Answer<BatchTimes>(std::move(times));
}

std::string CpuStopwatch::ClockFault(const Clocks& clocks) const {
  if (clocks.device.median > 1.05 * clocks.host.median + 2000) {
    return fmt::format("the worker's own clock reads {}, more than the judge saw from outside ({})",
                       HumanTime(clocks.device.median), HumanTime(clocks.host.median));
  }
  if (clocks.host.median > 1.5 * clocks.device.median + 50000) {
    return fmt::format("the judge waited {} for a call that the worker's own clock puts at {}",
                       HumanTime(clocks.host.median), HumanTime(clocks.device.median));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Stopwatch>> MakeCpuStopwatch() {
  return std::unique_ptr<Stopwatch>(std::make_unique<CpuStopwatch>());
}

}  // namespace roofmark::gate
