// SPDX-License-Identifier: Apache-2.0
#include "gate/cpu_stopwatch.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>

#include "base/elapsed.h"
#include "base/hash.h"
#include "base/stats.h"
#include "base/text.h"
#include "device/cpu_arena.h"
#include "gate/cpu_disturbance.h"
#include "gate/curtain.h"
#include "gate/ledger.h"
#include "gate/output_watch.h"
#include "worker/bell_page.h"
#include "worker/cpu_sampler.h"
#include "worker/process_memory.h"
#include "worker/stillness.h"

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

// Empty rings before each call: they wake the worker's core and measure what a ring itself costs.
constexpr int kEmptyRings = 4;
constexpr double kEmptyTimeoutS = 10;
// A round samples until it has this many, however short the call, or this long.
constexpr int64_t kEnoughSamples = 2 * worker::kFewestSamples;
constexpr double kSampledS = 2;
constexpr double kLookS = 0.01;
// What answering an empty ring may cost: it takes a microsecond. A worker that takes its time would
// have it taken off its calls.
constexpr double kMostEmptyNs = 4'000;
// Before a call: what waking up costs a thread's processor, and how long a main thread is awake
// that only answers empty rings (none was, on a machine of two processors, quiet or not: what
// stopping it takes is counted as waking, so some 40 us more go unseen).
constexpr double kWakingNs = 10'000;
constexpr double kAnsweringNs = 20'000;
// And how long a thread that took part in a call may look for more work behind it, as those of an
// OpenMP runtime do, until it is held: a look at the outputs and a stop later.
constexpr double kSpinNs = 100'000;
constexpr double kAheadShare = 0.05;

// Processor time that all threads of the process have used so far, seen from outside.
std::optional<int64_t> TaskTime(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) {
    return std::nullopt;
  }
  return used.tv_sec * 1'000'000'000 + used.tv_nsec;
}

// How long this thread has been without a processor so far, counted from anywhere.
int64_t AwayNs() {
  timespec ran{};
  timespec now{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
  (void)::clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - ran.tv_sec) * 1'000'000'000 + (now.tv_nsec - ran.tv_nsec);
}

double NsBetween(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double, std::nano>(to - from).count();
}

// Poison, but where values are updated in place.
Result<void> Blank(device::Arena& out) {
  const auto& places = out.layout().places;
  if (std::ranges::any_of(places, [](const auto& place) { return place.tensor.in_place; })) {
    return {};
  }
  return out.Poison();
}

class CpuStopwatch final : public Stopwatch {
 public:
  CpuStopwatch() : random_(static_cast<uint64_t>(RandomSeed())) {}

  Result<worker::Answer<void>> Prepare(worker::Worker& worker,
                                       const Provenance& provenance) override;
  void Quiet(worker::Worker& worker) override;
  void Wake(worker::Worker& worker) override { quiet_.erase(worker.pid()); }
  Result<worker::Answer<BatchTimes>> Time(worker::Worker& worker, std::span<const TimedCall> calls,
                                          const std::string& workspace, double timeout_s) override;
  Result<worker::Answer<BatchTimes>> Attribute(worker::Worker& worker,
                                               std::span<const TimedCall> calls,
                                               const std::string& workspace,
                                               double timeout_s) override;
  Result<worker::Answer<std::unique_ptr<Disturbance>>> Disturb(worker::Worker& worker) override {
    return worker::Answer<std::unique_ptr<Disturbance>>(
        DisturbCpu(worker.pid(), random_.Below(uint64_t{1} << 62)));
  }
  std::string ClockFault(const Clocks& clocks, double /*published_ns*/) const override {
    return CpuClockFault(clocks);
  }

 private:
  // Begins a bell of these calls in the worker and ends it again; between them `ring` uses it.
  // `fetched`: returned outputs are fetched from the worker's memory (worker/bell.h).
  Result<worker::Answer<void>> WithBell(
      worker::Worker& worker, std::span<const TimedCall> calls, const std::string& workspace,
      bool fetched, const std::function<Result<worker::Answer<void>>(worker::Bell& bell)>& ring);
  // The least cost of a few empty rings, which also bring the worker back to looking.
  Result<worker::Answer<double>> RingEmpty(worker::Worker& worker, worker::Bell& bell);
  // From when a candidate may go on until its call is rung.
  struct Ahead {
    double awake_ns = 0;  // how long its main thread ran, without what the judge was kept from it
    double used_ns = 0;   // processor time of all its other threads and processes
    double each_ns = 0;   // of each of them, what neither waking up nor the call explains
    double away_ns = 0;   // how long the judge had no processor
  };
  // What is looked at while the candidate is held, before and after a call.
  struct Mark {
    Clock::time_point at;
    int64_t ran_ns = 0;     // of its main thread
    int64_t waited_ns = 0;  // what that stood in line for a processor
    std::map<std::filesystem::path, int64_t> others = {};  // what its other threads have used
  };
  // What a batch's calls have in common, and what was seen of work outside of them.
  struct Batch {
    worker::Worker& worker;
    worker::Bell& bell;
    Curtain& curtain;
    OutputWatch& outputs;
    worker::Stillness& still;
    double timeout_s;
    bool fetched = false;
    Mark laid = {};                 // when a call was laid
    int64_t used_ns = 0;            // processor time of the candidate then
    int64_t own_waited_ns = 0;      // and what the judge had stood in line
    int64_t away_ns = 0;            // and had been without a processor
    std::vector<Ahead> ahead = {};  // by call
  };
  // Processor time of the whole candidate so far. The process's clock counts threads that are gone.
  static int64_t UsedNs(const Batch& batch);
  // Puts what a call returned, and left where it was, into its place. Requires: the candidate is
  // held, so that what is not computed by now is not in time.
  static void Fetch(const Batch& batch, device::Arena& out);
  // Flushes the operands and lets the call see its inputs, while nothing of the candidate runs.
  void Lay(size_t index, const TimedCall& call, Batch* batch, BatchTimes* times);
  Result<worker::Answer<void>> TimeCall(size_t index, const TimedCall& call, Batch* batch,
                                        BatchTimes* times);
  Result<worker::Answer<void>> TimeAll(std::span<const TimedCall> calls, Batch* batch,
                                       BatchTimes* times);
  static double MedianOf(const std::vector<Ahead>& all, double Ahead::* what);
  // What the batch says of work outside of its calls; empty where there was none.
  static std::string Outside(const Batch& batch, const BatchTimes& times);
  // Requires: the candidate is held.
  static Mark LookAt(const Batch& batch);
  // The call is about to be rung. `awake_ns` is how long ago it was laid.
  static Ahead LookAhead(const Batch& batch);
  // Takes off awake_ns what the main thread took to wake up.
  static void NoteAhead(const Mark& after, double called_ns, Ahead ahead, Batch* batch);
  // Makes the calls in turn, untimed, until there are enough samples of who runs: sampling
  // interrupts, so the timed calls go without.
  Result<worker::Answer<void>> Sample(worker::Worker& worker, worker::Bell& bell,
                                      std::span<const TimedCall> calls, double timeout_s,
                                      worker::CpuProfile* profile);

  Random random_;
  std::map<pid_t, Provenance> provenance_;                     // by worker
  std::map<pid_t, std::unique_ptr<worker::Stillness>> quiet_;  // workers that may not run now
};

Result<worker::Answer<void>> CpuStopwatch::Prepare(worker::Worker& worker,
                                                   const Provenance& provenance) {
  provenance_[worker.pid()] = provenance;
  return worker::Answer<void>();
}

void CpuStopwatch::Quiet(worker::Worker& worker) {
  auto& still = quiet_[worker.pid()] = std::make_unique<worker::Stillness>(worker.pid());
  still->Hold();
}

Result<worker::Answer<double>> CpuStopwatch::RingEmpty(worker::Worker& worker, worker::Bell& bell) {
  double least = 0;
  for (int i = 0; i < kEmptyRings; ++i) {
    const uint64_t number = worker::kBellEmpty | random_.Below(worker::kBellEmpty);
    const worker::Answer<worker::RingTime> ring =
        TRY(worker::Ring(worker, bell, number, kEmptyTimeoutS));
    if (!ring) return worker::Answer<double>(std::unexpected(ring.error()));
    least = i == 0 ? ring->host_ns : std::min(least, ring->host_ns);
  }
  return worker::Answer<double>(least);
}

void CpuStopwatch::Lay(size_t index, const TimedCall& call, Batch* batch, BatchTimes* times) {
  const Stretch stretch(Part::kFlush);
  if (!batch->still.Settle() && times->unsynchronised.empty()) {
    times->unsynchronised = "threads or processes of the candidate work on while no call runs";
  }
  batch->still.Hold();
  batch->curtain.Raise(index);
  device::FlushFromCache(*call.in);
  device::FlushFromCache(*call.out);
  device::WarmOperands(*call.in);
  batch->used_ns = UsedNs(*batch);
  batch->own_waited_ns = worker::OwnWaitedNs();
  batch->away_ns = AwayNs();
  batch->laid = LookAt(*batch);
  batch->still.Release();
}

CpuStopwatch::Mark CpuStopwatch::LookAt(const Batch& batch) {
  Mark mark = {.ran_ns = batch.still.RanNs(),
               .waited_ns = batch.still.WaitedNs(),
               .others = batch.still.OthersByThread()};
  mark.at = Clock::now();
  return mark;
}

int64_t CpuStopwatch::UsedNs(const Batch& batch) {
  return TaskTime(batch.worker.pid()).value_or(0) + batch.still.OtherProcessesNs();
}

// An address where nothing lies leaves poison behind.
void CpuStopwatch::Fetch(const Batch& batch, device::Arena& out) {
  const std::vector<device::TensorPlace>& places = out.layout().places;
  for (size_t i = 0; i < std::min(places.size(), worker::kBellOutputs); ++i) {
    const uint64_t address = batch.bell.returned.at(i).load(std::memory_order_relaxed);
    if (address == 0) continue;
    (void)worker::ReadMemory(
        batch.worker.pid(), address,
        {ElementAt(out, places[i], 0), static_cast<size_t>(places[i].tensor.Bytes())});
  }
}

void CpuStopwatch::NoteAhead(const Mark& after, double called_ns, Ahead ahead, Batch* batch) {
  // Until it was held again it ran, stood in line, or was about to wake up.
  const Mark& laid = batch->laid;
  const double waking_ns =
      NsBetween(laid.at, after.at) - static_cast<double>(after.ran_ns - laid.ran_ns);
  ahead.awake_ns = std::max(0.0, ahead.awake_ns - waking_ns - ahead.away_ns);
  for (const auto& [thread, used_ns] : after.others) {
    const auto before = laid.others.find(thread);
    const int64_t ran_ns = used_ns - (before == laid.others.end() ? 0 : before->second);
    ahead.each_ns += std::max(0.0, static_cast<double>(ran_ns) - called_ns - kSpinNs);
  }
  batch->ahead.push_back(ahead);
}

CpuStopwatch::Ahead CpuStopwatch::LookAhead(const Batch& batch) {
  Ahead ahead = {.away_ns = static_cast<double>(AwayNs() - batch.away_ns)};
  ahead.used_ns = static_cast<double>(UsedNs(batch) - batch.used_ns);
  // Mostly nothing is to be taken off, and looking takes time in which it may work.
  if (ahead.used_ns > kWakingNs) {
    ahead.used_ns -= static_cast<double>(batch.still.RanNs() - batch.laid.ran_ns);
  }
  ahead.awake_ns = NsBetween(batch.laid.at, Clock::now());
  return ahead;
}

Result<worker::Answer<void>> CpuStopwatch::TimeCall(size_t index, const TimedCall& call,
                                                    Batch* batch, BatchTimes* times) {
  worker::Worker& worker = batch->worker;
  Lay(index, call, batch, times);
  const worker::Answer<double> empty_ns = TRY(RingEmpty(worker, batch->bell));
  if (!empty_ns) return worker::Answer<void>(std::unexpected(empty_ns.error()));
  std::string outside = batch->outputs.WrittenAhead(*call.out);
  const Ahead ahead = LookAhead(*batch);
  const std::optional<int64_t> task_begin = TaskTime(worker.pid());
  const worker::Answer<worker::RingTime> ring =
      TRY(worker::Ring(worker, batch->bell, index + 1, batch->timeout_s));
  if (!ring) return worker::Answer<void>(std::unexpected(ring.error()));
  const std::optional<int64_t> task_end = TaskTime(worker.pid());
  // Nobody writes to what is taken from his memory, nor afterwards to what is looked at.
  if (batch->fetched) {
    if (!batch->still.Hold() && outside.empty()) {
      outside = "a child runs in the candidate's place when its call is done";
    }
    Fetch(*batch, *call.out);
  }
  if (outside.empty()) outside = batch->outputs.Unwritten(*call.out);
  if (!batch->fetched) batch->still.Hold();
  const Mark after = LookAt(*batch);
  TRY(batch->outputs.Keep(*call.out));
  batch->still.Release();
  const double net_ns = std::max(ring->host_ns - std::min(*empty_ns, kMostEmptyNs), 1.0);
  times->time_ns.push_back(net_ns);
  NoteAhead(after, net_ns, ahead, batch);
  // What this machine had no processor for is no disagreement of clocks.
  const auto waited_ns = static_cast<double>(worker::OwnWaitedNs() - batch->own_waited_ns +
                                             after.waited_ns - batch->laid.waited_ns);
  times->host_ns.push_back(std::max(net_ns - waited_ns, std::min(net_ns, ring->worker_ns)));
  times->device_ns.push_back(ring->worker_ns);
  if (task_begin && task_end) {
    times->event_ns.push_back(static_cast<double>(*task_end - *task_begin));
  }
  if (times->unsynchronised.empty()) times->unsynchronised = std::move(outside);
  return worker::Answer<void>();
}

Result<worker::Answer<void>> CpuStopwatch::TimeAll(std::span<const TimedCall> calls, Batch* batch,
                                                   BatchTimes* times) {
  for (size_t i = 0; i < calls.size(); ++i) {
    worker::Answer<void> timed = TRY(TimeCall(i, calls[i], batch, times));
    if (!timed) return timed;
  }
  if (times->unsynchronised.empty()) times->unsynchronised = Outside(*batch, *times);
  if (const double away_ns = MedianOf(batch->ahead, &Ahead::away_ns); away_ns > kAnsweringNs) {
    times->busy = fmt::format(
        "this machine was busy: the judge stood in line for a processor for {} before calls, and "
        "what of them was done meanwhile is not known",
        HumanTime(away_ns));
  }
  return worker::Answer<void>();
}

double CpuStopwatch::MedianOf(const std::vector<Ahead>& all, double Ahead::* what) {
  std::vector<double> values;
  for (const Ahead& one : all) values.push_back(one.*what);
  return Median(values);
}

std::string CpuStopwatch::Outside(const Batch& batch, const BatchTimes& times) {
  // The median is what is published, and what a busy machine does to single calls is not in it.
  const double called_ns = Median(times.time_ns);
  const double share_ns = kAheadShare * called_ns;
  const double awake_ns = MedianOf(batch.ahead, &Ahead::awake_ns);
  const double used_ns = MedianOf(batch.ahead, &Ahead::used_ns);
  const double waking_ns = kWakingNs * static_cast<double>(1 + batch.still.Others());
  const double each_ns = MedianOf(batch.ahead, &Ahead::each_ns);
  if (awake_ns <= kAnsweringNs + share_ns && used_ns <= waking_ns + share_ns &&
      each_ns <= kWakingNs + share_ns) {
    return {};
  }
  return fmt::format(
      "threads or processes of the candidate ran for {} while no call ran, before each call of {} "
      "(medians of {})",
      HumanTime(std::max({awake_ns, used_ns, each_ns})), HumanTime(called_ns), batch.ahead.size());
}

Result<worker::Answer<void>> CpuStopwatch::Sample(worker::Worker& worker, worker::Bell& bell,
                                                  std::span<const TimedCall> calls,
                                                  double timeout_s, worker::CpuProfile* profile) {
  const std::string own = worker.loaded();
  worker::CpuSampler sampler = worker::CpuSampler::Start(worker.pid());
  const Clock::time_point begin = Clock::now();
  const auto spent = [&] { return SecondsSince(begin); };
  double looked_s = 0;
  for (uint64_t i = 0; spent() < kSampledS; ++i) {
    // A call that finds its answer there may leave it, and others' code with it.
    TRY(Blank(*calls[i % calls.size()].out));
    const worker::Answer<worker::RingTime> ring = TRY(worker::Ring(worker, bell, i + 1, timeout_s));
    if (!ring) return worker::Answer<void>(std::unexpected(ring.error()));
    if (spent() - looked_s < kLookS) continue;
    // Counting reads the worker's memory map, so it is not done after each of many short calls.
    if (!sampler.can_sample() || sampler.Count(own) >= kEnoughSamples) break;
    looked_s = spent();
  }
  *profile = sampler.Stop(own);
  return worker::Answer<void>();
}

Result<worker::Answer<void>> CpuStopwatch::WithBell(
    worker::Worker& worker, std::span<const TimedCall> calls, const std::string& workspace,
    bool fetched, const std::function<Result<worker::Answer<void>>(worker::Bell& bell)>& ring) {
  Json list = Json::MakeArray();
  for (const TimedCall& call : calls) {
    list.Push(Json::MakeObject().Set("in", call.in_name).Set("out", call.out_name));
  }
  worker::BellPage page = TRY(worker::BellPage::Make());
  const std::array<int, 1> fds = {page.fd()};
  TRY(worker.Send(Json::MakeObject()
                      .Set("do", "bell")
                      .Set("calls", std::move(list))
                      .Set("workspace", workspace)
                      .Set("fetched", fetched),
                  fds));
  worker::Answer<void> rung = TRY(ring(page.bell()));
  // A worker that failed has left its loop and said why, and that was its reply.
  if (!rung || !worker.alive()) return rung;
  page.bell().ring.store(worker::kBellStop, std::memory_order_release);
  worker::Answer<Json> reply = TRY(worker.Receive(kEmptyTimeoutS));
  if (!reply) rung = std::unexpected(std::move(reply.error()));
  return rung;
}

Result<worker::Answer<BatchTimes>> CpuStopwatch::Time(worker::Worker& worker,
                                                      std::span<const TimedCall> calls,
                                                      const std::string& workspace,
                                                      double timeout_s) {
  BatchTimes times;
  OutputWatch outputs;
  Curtain curtain(calls);
  quiet_.erase(worker.pid());
  worker::Stillness still(worker.pid());
  const bool fetched =
      !IsNative(provenance_[worker.pid()].lane) && worker::MayReadMemory(worker.pid());
  const auto time = [&](worker::Bell& bell) {
    Batch batch = {.worker = worker,
                   .bell = bell,
                   .curtain = curtain,
                   .outputs = outputs,
                   .still = still,
                   .timeout_s = timeout_s,
                   .fetched = fetched};
    return TimeAll(calls, &batch, &times);
  };
  worker::Answer<void> timed = TRY(WithBell(worker, calls, workspace, fetched, time));
  if (!timed) return worker::Answer<BatchTimes>(std::unexpected(std::move(timed.error())));
  // It stays held, so that nobody mends what is yet to be looked at.
  Quiet(worker);
  const std::string changed = TRY(outputs.Changed());
  if (times.unsynchronised.empty()) times.unsynchronised = changed;
  return worker::Answer<BatchTimes>(std::move(times));
}

Result<worker::Answer<BatchTimes>> CpuStopwatch::Attribute(worker::Worker& worker,
                                                           std::span<const TimedCall> calls,
                                                           const std::string& workspace,
                                                           double timeout_s) {
  worker::CpuProfile profile;
  quiet_.erase(worker.pid());
  const auto sample = [&](worker::Bell& bell) {
    return Sample(worker, bell, calls, timeout_s, &profile);
  };
  worker::Answer<void> sampled = TRY(WithBell(worker, calls, workspace, /*fetched=*/true, sample));
  if (!sampled) return worker::Answer<BatchTimes>(std::unexpected(std::move(sampled.error())));
  return worker::Answer<BatchTimes>(
      BatchTimes{.owner_ns = profile.owner_ns, .kernels = profile.objects, .level = profile.level});
}

}  // namespace

// Beyond their intervals: a machine that is busy with others makes both wide.
std::string CpuClockFault(const Clocks& clocks) {
  if (clocks.device.low > 1.05 * clocks.host.high + 2000) {
    return fmt::format("the worker's own clock reads {}, more than the judge saw from outside ({})",
                       HumanTime(clocks.device.median), HumanTime(clocks.host.median));
  }
  if (clocks.host.low > 1.5 * clocks.device.high + 50000) {
    return fmt::format("the judge waited {} for a call that the worker's own clock puts at {}",
                       HumanTime(clocks.host.median), HumanTime(clocks.device.median));
  }
  return {};
}

Result<std::unique_ptr<Stopwatch>> MakeCpuStopwatch() {
  return std::unique_ptr<Stopwatch>(std::make_unique<CpuStopwatch>());
}

}  // namespace roofmark::gate
