// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_stopwatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>
#include <set>

#include "base/check.h"
#include "base/hash.h"
#include "base/hex.h"
#include "base/text.h"
#include "device/cuda_device.h"
#include "gate/cuda_provenance.h"
#include "gate/cuda_timeline.h"
#include "gate/cuda_unreported.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using worker::Answer;
using worker::Mishap;
using Clock = std::chrono::steady_clock;

double Since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// A flush reads this many times the L2 cache: each half of an H200's cache may hold its own copy.
constexpr int64_t kFlushPerCache = 2;
constexpr int64_t kMinFlushBytes = int64_t{64} << 20;
// How long a batch may be held while it is queued. Queueing some hundred launches takes
// milliseconds, and the judge reads an output meanwhile. A call that waits for the device ends the
// hold only by this limit, so a worker whose calls do is not held again.
constexpr int64_t kHoldNs = 150'000'000;

// So many calls of a batch, secretly chosen, have their operands probed. Source of the time that a
// disturbance lasts: a request to a worker and a launch take 0.1 to 0.3 ms.
constexpr size_t kProbedCalls = 3;
constexpr int64_t kDisturbNs = 2'000'000;

Json Phase(std::string_view phase) {
  return Json::MakeObject().Set("do", "batch").Set("phase", phase).Set("calls", Json::MakeArray());
}

enum class Calls { kMade, kSkipped };
using Timed = Answer<BatchTimes>;

// What the worker answered about one batch, and the judge's own clock.
struct RawBatch {
  double host_ns = 0;   // from go to done
  double whole_ns = 0;  // from before it was queued to done, without the judge's own reading
  bool held = false;
  std::vector<double> event_ns;
  MeterReport meter;
  Coldness coldness;
  StageFindings stage;
};

using Raw = Answer<RawBatch>;

Result<void> ReadStage(const Json& answer, size_t probed_lines, RawBatch* batch) {
  const Json& stage = *TRY(answer.ObjectAt("stage"));
  batch->stage = TRY(ReadFindings(stage, batch->event_ns.size()));
  batch->coldness = TRY(ReadColdness(*TRY(stage.ObjectAt("probe")), probed_lines));
  return {};
}

class CudaStopwatch final : public Stopwatch {
 public:
  CudaStopwatch(std::string stage_cubin, int64_t flush_bytes, std::unique_ptr<device::Nvml> nvml)
      : nvml_(std::move(nvml)),
        stage_cubin_(std::move(stage_cubin)),
        stage_sha256_(meter::CubinHash(stage_cubin_)),
        flush_bytes_(flush_bytes) {}

  Result<Answer<void>> Prepare(worker::Worker& worker, const Provenance& provenance) override;
  Result<Answer<BatchTimes>> Time(worker::Worker& worker, std::span<const TimedCall> calls,
                                  const std::string& workspace, double timeout_s) override;
  Result<Answer<std::unique_ptr<Disturbance>>> Disturb(worker::Worker& worker) override;
  void Observe(ClockLog& log) const override {
    if (nvml_ == nullptr) return log.Miss();
    log.Add(nvml_->Read());
  }
  // CUPTI's times are multiples of this on an H200 (results/h200-2026-11-30/samples.jsonl.gz).
  double TickNs() const override { return 32; }
  std::string ClockFault(const Clocks& clocks, double published_ns) const override {
    return CudaClockFault(clocks, published_ns);
  }

 private:
  // The calls as the worker is told them, with what is to be probed and what is to be warm.
  struct Listed {
    Json calls;
    size_t probed_lines = 0;
  };
  Listed List(const worker::Worker& worker, std::span<const TimedCall> calls);
  void DescribeOperands(int64_t base, const device::ArenaLayout& operands, bool probed, Json* call,
                        Listed* listed);
  Result<Answer<RawBatch>> Run(worker::Worker& worker, std::span<const TimedCall> calls,
                               const Listed& listed, const std::string& workspace, Calls mode,
                               double timeout_s);
  Result<Answer<RawBatch>> Read(worker::Worker& worker, size_t calls, const Listed& listed,
                                double timeout_s);
  Answer<BatchTimes> FromMeter(const RawBatch& batch, const RawBatch& empty,
                               std::span<const TimedCall> calls,
                               const Provenance& provenance) const;
  void FillOwners(const MeterReport& report, const Timeline& timeline, const Provenance& provenance,
                  BatchTimes& times) const;
  // The name of an output that still ends in poison, or nothing.
  static Result<std::string> Unwritten(const TimedCall& last);
  static Result<std::string> Ends(const TimedCall& call);

  std::unique_ptr<device::Nvml> nvml_;
  std::string stage_cubin_;
  std::string stage_sha256_;
  int64_t flush_bytes_;
  // Several workers take turns on one stopwatch.
  struct Known {
    Provenance provenance;
    bool waits = false;  // its calls wait for the device, so that holding them only costs time
    bool joins = false;  // the mark behind its calls waits for the whole context
    int64_t clear = 0;   // batches in which hits were told from misses
  };
  std::map<const worker::Worker*, Known> known_;
  int64_t clear_ = 0;  // the same of all workers that there ever were
  Random random_{static_cast<uint64_t>(RandomSeed())};
};

Result<Answer<void>> CudaStopwatch::Prepare(worker::Worker& worker, const Provenance& provenance) {
  known_[&worker] = {.provenance = provenance, .joins = provenance.launches_from_device};
  const Json request =
      Phase("stage").Set("cubin", ToHex(stage_cubin_)).Set("flush_bytes", flush_bytes_);
  constexpr double kStageTimeoutS = 60;
  const auto answer = TRY(worker.Ask(request, kStageTimeoutS));
  return answer ? Answer<void>() : Answer<void>(std::unexpected(answer.error()));
}

// An answer that says what is wrong with the candidate.
std::unexpected<Mishap> Refused(Outcome outcome, std::string reason) {
  return std::unexpected(Mishap{.outcome = outcome, .reason = std::move(reason)});
}

// For replies that no honest worker gives.
std::unexpected<Mishap> Rubbish(const std::string& what) {
  return Refused(Outcome::kClocksDisagree, "the worker's timing reply is unusable: " + what);
}

Result<Answer<std::unique_ptr<Disturbance>>> CudaStopwatch::Disturb(worker::Worker& worker) {
  using Made = Answer<std::unique_ptr<Disturbance>>;
  const Json request = Phase("disturb")
                           .Set("percent", static_cast<int64_t>(1 + random_.Below(99)))
                           .Set("seed", RandomSeed())
                           .Set("limit_ns", kDisturbNs);
  constexpr double kTimeoutS = 20;
  const auto answer = TRY(worker.Ask(request, kTimeoutS));
  if (!answer) return Made(std::unexpected(answer.error()));
  // It ends by itself, and the worker's call waits for it.
  return Made(std::make_unique<Disturbance>());
}

CudaStopwatch::Listed CudaStopwatch::List(const worker::Worker& worker,
                                          std::span<const TimedCall> calls) {
  std::set<size_t> probed;
  while (probed.size() < std::min(kProbedCalls, calls.size())) {
    probed.insert(random_.Below(calls.size()));
  }
  Listed listed{.calls = Json::MakeArray()};
  for (size_t i = 0; i < calls.size(); ++i) {
    Json call = Json::MakeObject().Set("in", calls[i].in_name).Set("out", calls[i].out_name);
    const auto base = calls[i].in == nullptr ? std::nullopt : worker.AddressOf(calls[i].in_name);
    if (base) DescribeOperands(*base, calls[i].in->layout(), probed.contains(i), &call, &listed);
    listed.calls.Push(std::move(call));
  }
  return listed;
}

// What is to be probed and what is to be warm among the operands at `base`.
void CudaStopwatch::DescribeOperands(int64_t base, const device::ArenaLayout& operands, bool probed,
                                     Json* call, Listed* listed) {
  Json warm = Json::MakeArray();
  for (const device::TensorPlace& place : operands.places) {
    if (place.tensor.residency != Residency::kWarm || place.tensor.Bytes() == 0) continue;
    warm.Push(Json::MakeArray().Push(base + place.offset).Push(place.tensor.Bytes()));
  }
  if (!warm.array().empty()) call->Set("warm", std::move(warm));
  if (!probed) return;
  const std::vector<int64_t> lines = SampleLines(operands, &random_);
  if (lines.empty()) return;
  listed->probed_lines += lines.size();
  call->Set("probe", Json::MakeObject()
                         .Set("base", base)
                         .Set("offsets", Json(Json::Array(lines.begin(), lines.end()))));
}

Result<Answer<RawBatch>> CudaStopwatch::Read(worker::Worker& worker, size_t calls,
                                             const Listed& listed, double timeout_s) {
  const auto answer = TRY(worker.Ask(Phase("read"), timeout_s));
  if (!answer) return Raw(std::unexpected(answer.error()));
  RawBatch batch;
  const auto events = answer->ArrayAt("event_ns");
  if (!events || (*events)->array().size() != calls) return Raw(Rubbish("events are missing"));
  for (const Json& event : (*events)->array()) {
    if (!event.is_number()) return Raw(Rubbish("an event time is no number"));
    batch.event_ns.push_back(event.as_double());
  }
  if (const auto stage = ReadStage(*answer, listed.probed_lines, &batch); !stage) {
    return Raw(Rubbish(stage.error().message()));
  }
  const Json* const meter = answer->Find("meter");
  if (meter == nullptr) {
    batch.meter.fault = "no meter was injected";
    return batch;
  }
  auto report = ParseMeterReport(*meter);
  if (!report) return Raw(Rubbish(report.error().message()));
  batch.meter = std::move(*report);
  return batch;
}

Result<Answer<RawBatch>> CudaStopwatch::Run(worker::Worker& worker,
                                            std::span<const TimedCall> calls, const Listed& listed,
                                            const std::string& workspace, Calls mode,
                                            double timeout_s) {
  const Json request = Json::MakeObject()
                           .Set("do", "batch")
                           .Set("phase", "queue")
                           .Set("calls", listed.calls)
                           .Set("workspace", workspace)
                           .Set("hold_ns", known_[&worker].waits ? 0 : kHoldNs)
                           .Set("join", known_[&worker].joins)
                           .Set("graph", calls.front().graph)
                           .Set("skip", mode == Calls::kSkipped);
  const TimedCall& spied = calls[random_.Below(calls.size())];
  const std::string before = mode == Calls::kMade ? TRY(Ends(spied)) : std::string();
  const Clock::time_point begin = Clock::now();
  const auto queued = TRY(worker.Ask(request, timeout_s));
  const double queue_ns = Since(begin);
  if (!queued) return Raw(std::unexpected(queued.error()));
  // What is held has not run, so an output that is there already came another way.
  const bool written = mode == Calls::kMade && TRY(Ends(spied)) != before;

  const Clock::time_point start = Clock::now();
  const auto ran = TRY(worker.Ask(Phase("go"), timeout_s));
  const double took_ns = Since(start);
  if (!ran) return Raw(std::unexpected(ran.error()));
  const auto held = ran->Bool("held");
  if (written && held && *held) {
    return Raw(Refused(Outcome::kUnsynchronised,
                       "an output was written before its call ran: by other means than run()"));
  }
  // The worker says done: the last output is read at once, before its meter is.
  if (mode == Calls::kMade) {
    if (const std::string name = TRY(Unwritten(calls.back())); !name.empty()) {
      return Raw(Refused(Outcome::kUnsynchronised,
                         fmt::format("output {} was not written when the stream was done", name)));
    }
  }
  auto batch = TRY(Read(worker, calls.size(), listed, timeout_s));
  if (!batch) return batch;
  batch->host_ns = took_ns;
  batch->whole_ns = queue_ns + took_ns;
  batch->held = held && *held;
  return batch;
}

// The last bytes of each output, however they came to be.
Result<std::string> CudaStopwatch::Ends(const TimedCall& call) {
  constexpr int64_t kBytes = 64;
  std::string ends;
  for (const device::TensorPlace& place : call.out->layout().places) {
    const int64_t size = std::min(kBytes, place.tensor.Bytes());
    ends += TRY(call.out->Read(place.offset + place.tensor.Bytes() - size, size));
  }
  return ends;
}

// An output whose last bytes are poison when the worker claims to be done: work goes on after it,
// or never writes. The correctness of values is checked later, by others.
Result<std::string> CudaStopwatch::Unwritten(const TimedCall& last) {
  for (const device::TensorPlace& place : last.out->layout().places) {
    if (!device::PoisonTells(place.tensor) || place.tensor.Bytes() == 0) continue;
    const int64_t size = DTypeBytes(place.tensor.dtype);
    const std::string end = TRY(last.out->Read(place.offset + place.tensor.Bytes() - size, size));
    const bool poisoned = std::ranges::all_of(
        end, [](char c) { return static_cast<uint8_t>(c) == device::kPoisonByte; });
    if (poisoned) return place.tensor.name;
  }
  return std::string();
}

Result<Answer<BatchTimes>> CudaStopwatch::Time(worker::Worker& worker,
                                               std::span<const TimedCall> calls,
                                               const std::string& workspace, double timeout_s) {
  CHECK(!calls.empty());
  // The real batch comes first, while its outputs are poison: a batch that had run before would
  // leave right answers behind.
  const Listed listed = List(worker, calls);
  auto batch = TRY(Run(worker, calls, listed, workspace, Calls::kMade, timeout_s));
  if (!batch) return Timed(std::unexpected(batch.error()));
  const auto empty = TRY(Run(worker, calls, listed, workspace, Calls::kSkipped, timeout_s));
  if (!empty) return Timed(std::unexpected(empty.error()));

  Known& known = known_[&worker];
  known.waits = known.waits || !batch->held;
  known.joins = known.joins || batch->meter.conditionals > 0;
  auto times = FromMeter(*batch, *empty, calls, known.provenance);
  if (!times) return times;
  const int64_t clear = batch->coldness.batches - batch->coldness.unclear;
  known.clear += clear;
  clear_ += clear;
  times->coldness = batch->coldness;
  times->coldness.clear_elsewhere = clear_ - known.clear;
  if (times->unsynchronised.empty()) times->unsynchronised = LeftBehind(batch->stage);
  if (times->unsynchronised.empty()) {
    times->unsynchronised = GoesOnElsewhere(batch->stage, empty->stage);
  }
  return times;
}

// What the worker's copies of returned outputs may take at most: a quarter of what any GPU of this
// kind copies at, and a launch each.
double SettleLimitNs(const TimedCall& call) {
  constexpr double kBytesPerNs = 1000;
  constexpr double kLaunchNs = 5000;
  double limit = 0;
  for (const device::TensorPlace& place : call.out->layout().places) {
    limit += static_cast<double>(place.tensor.Bytes()) * 2 / kBytesPerNs + kLaunchNs;
  }
  return limit;
}

// What a batch with calls takes more than an empty one, once, however many calls it has: 52 to 134
// us in batches of two calls of honest kernels of 18 to 340 us, on an H200 beside a busy one,
// 2026-11-30. Many calls share it and stay within the jitter of one; few do not.
constexpr double kBatchNs = 150'000;

// The judge's clock per call: what the batch took more than the empty one, less two things that lie
// outside of the calls. Both are the meter's testimony, so each counts only up to what it can be:
// copies of returned outputs, and the flush's writing back of what a call left dirty, which is at
// most a cache full: half of what a flush reads, at no less than half its rate.
double PairedHostNs(const RawBatch& batch, const RawBatch& empty, const Timeline& timeline,
                    const Timeline& empty_timeline, std::span<const TimedCall> calls) {
  const auto count = static_cast<double>(calls.size());
  double outside = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    outside += std::min(timeline.calls[i].settle_ns, SettleLimitNs(calls[i])) / count;
  }
  const double write_back_limit = empty_timeline.flush_ns;
  outside += std::clamp(timeline.flush_ns - empty_timeline.flush_ns, 0.0, write_back_limit);
  outside += std::max(0.0, kBatchNs / count - kHostJitterNs);
  return std::max(0.0, (batch.host_ns - empty.host_ns) / count - outside);
}

// What the worker copies behind a call, of candidates that return their outputs.
std::vector<int64_t> ReturnedBytes(const TimedCall& call) {
  std::vector<int64_t> bytes;
  for (const device::TensorPlace& place : call.out->layout().places) {
    if (place.tensor.Bytes() > 0) bytes.push_back(place.tensor.Bytes());
  }
  return bytes;
}

// No CUPTI on this machine: events are all there is, and nothing can be attributed.
BatchTimes FromEvents(const RawBatch& batch) {
  BatchTimes times;
  times.event_ns = batch.event_ns;
  times.time_ns = batch.event_ns;
  times.device_ns = batch.event_ns;
  times.level = "no CUPTI (" + batch.meter.fault + "): published time is by events";
  times.owner_ns[static_cast<size_t>(Owner::kUnknown)] = Sum(batch.event_ns);
  return times;
}

Answer<BatchTimes> CudaStopwatch::FromMeter(const RawBatch& batch, const RawBatch& empty,
                                            std::span<const TimedCall> calls,
                                            const Provenance& provenance) const {
  if (!batch.meter.fault.empty()) return FromEvents(batch);
  const std::vector<int64_t> returned =
      IsNative(provenance.lane) ? std::vector<int64_t>() : ReturnedBytes(calls.front());
  const Children children =
      provenance.launches_from_device ? Children::kUnreported : Children::kNone;
  Timeline timeline = CutIntoCalls(batch.meter, stage_sha256_, calls.size(), returned, children);
  if (!timeline.fault.empty()) return Refused(Outcome::kClocksDisagree, timeline.fault);
  const Timeline empty_timeline = CutIntoCalls(empty.meter, stage_sha256_, calls.size(), {});
  if (!empty_timeline.fault.empty()) {
    return Refused(Outcome::kClocksDisagree, empty_timeline.fault);
  }
  CountConditionals(batch.meter, batch.event_ns, &timeline);
  BatchTimes times;
  times.event_ns = batch.event_ns;
  for (size_t i = 0; i < calls.size(); ++i) {
    const CallSpan& call = timeline.calls[i];
    if (call.operations.empty() && call.unseen_ns <= 0 && timeline.unsynchronised.empty()) {
      return Refused(Outcome::kClocksDisagree,
                     fmt::format("call {} of the batch ran nothing on the device", i));
    }
    times.device_ns.push_back(timeline.calls[i].device_ns);
  }
  times.time_ns = times.device_ns;
  times.unsynchronised = timeline.unsynchronised;
  if (batch.held && empty.held) {
    times.host_ns = {PairedHostNs(batch, empty, timeline, empty_timeline, calls)};
  } else {
    // Its word that it waits may not take the judge's clock away, so that clock is published. What
    // queueing costs is in it: whoever calls such a kernel pays that too.
    const auto count = static_cast<double>(calls.size());
    const double seen = Sum(times.device_ns) / count;
    times.time_ns = {std::max(seen, (batch.whole_ns - empty.whole_ns) / count)};
    times.level = "run() waits for the device: its time is by the judge's clock, queueing included";
  }
  if (const std::string text = UnreportedText(batch.meter, children, batch.stage); !text.empty()) {
    times.level += (times.level.empty() ? "" : "; ") + text;
  }
  FillOwners(batch.meter, timeline, provenance, times);
  return times;
}

// A kernel's name and, for foreign code, who loaded it.
std::string NameOfCode(const MeterReport& report, const MeteredOperation& operation, Owner owner) {
  const MeteredName& name = report.names[operation.name];
  const bool foreign = owner != Owner::kOwn && owner != Owner::kDsl && owner != Owner::kRuntime;
  if (!foreign || name.modules.empty()) return name.name;
  const std::string& loader = report.modules[name.modules.front()].loader;
  return fmt::format("{} ({})", name.name, loader.substr(loader.rfind('/') + 1));
}

void CudaStopwatch::FillOwners(const MeterReport& report, const Timeline& timeline,
                               const Provenance& provenance, BatchTimes& times) const {
  std::map<std::pair<Owner, std::string>, double> by_kernel;
  std::set<std::string> dsl_code;
  double total = 0;
  for (const CallSpan& call : timeline.calls) {
    for (const size_t index : call.operations) {
      const MeteredOperation& operation = report.operations[index];
      const Owner owner = OwnerOf(report, operation, provenance);
      const auto ns = static_cast<double>(operation.end_ns - operation.start_ns);
      times.owner_ns[static_cast<size_t>(owner)] += ns;
      by_kernel[{owner, NameOfCode(report, operation, owner)}] += ns;
      total += ns;
      if (owner != Owner::kDsl) continue;
      for (const size_t module : report.names[operation.name].modules) {
        dsl_code.insert(report.modules[module].sha256);
      }
    }
    if (call.unseen_ns > 0) {
      const Owner owner = OwnerOfUnseen(report, provenance, stage_sha256_);
      times.owner_ns[static_cast<size_t>(owner)] += call.unseen_ns;
      by_kernel[{owner, report.conditionals > 0 ? "what graphs decide to run"
                                                : "what kernels launched"}] += call.unseen_ns;
      total += call.unseen_ns;
    }
  }
  times.dsl_code.assign(dsl_code.begin(), dsl_code.end());
  std::vector<std::pair<double, std::string>> lines;
  for (const auto& [key, ns] : by_kernel) {
    lines.emplace_back(-ns, fmt::format("{} {:.1f} % {}", OwnerName(key.first),
                                        total > 0 ? 100 * ns / total : 0, key.second));
  }
  std::ranges::sort(lines);
  for (auto& [order, line] : lines) times.kernels.push_back(std::move(line));
}

}  // namespace

Result<std::unique_ptr<Stopwatch>> MakeCudaStopwatch(device::Device& device) {
  auto* const cuda = dynamic_cast<device::CudaDevice*>(&device);
  CHECK(cuda != nullptr);
  const int64_t flush = std::max(kMinFlushBytes, kFlushPerCache * device.info().cache_bytes);
  // A machine without NVML still times; each verdict says that nobody watched the clocks.
  Result<std::unique_ptr<device::Nvml>> nvml = device::Nvml::Open(device.info().uuid);
  return MakeCudaStopwatch(TRY(cuda->StageCubin()), flush, nvml ? std::move(*nvml) : nullptr);
}

std::unique_ptr<Stopwatch> MakeCudaStopwatch(std::string stage_cubin, int64_t flush_bytes,
                                             std::unique_ptr<device::Nvml> nvml) {
  return std::make_unique<CudaStopwatch>(std::move(stage_cubin), flush_bytes, std::move(nvml));
}

}  // namespace roofmark::gate
