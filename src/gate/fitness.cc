// SPDX-License-Identifier: Apache-2.0
#include "gate/fitness.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>

#include "base/hash.h"
#include "base/text.h"
#include "gate/output_check.h"
#include "worker/process_memory.h"

namespace roofmark::gate {
namespace {

using Answer = FitnessItem::Answer;

constexpr int kTwins = 3;
constexpr int kGrowthCalls = 64;
constexpr int64_t kGrowthLimit = int64_t{1} << 20;

// "cudaMalloc_v3020", "cuMemAlloc_v2_ptsz" -> "cudaMalloc", "cuMemAlloc": the name as documented.
std::string_view Documented(std::string_view name) {
  for (const std::string_view suffix : {"_ptsz", "_ptds"}) {
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  }
  const size_t version = name.rfind("_v");
  if (version == std::string_view::npos || version + 2 == name.size()) return name;
  const std::string_view digits = name.substr(version + 2);
  const bool numeric = std::ranges::all_of(
      digits, [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
  return numeric ? name.substr(0, version) : name;
}

// Source: CUDA driver and runtime API references 13.0, "API synchronization behavior": copies
// without Async return when they are done; the others wait by their definition.
bool Waits(std::string_view name) {
  constexpr std::array kWaiting = {
      std::string_view("cuCtxSynchronize"),      std::string_view("cuStreamSynchronize"),
      std::string_view("cuEventSynchronize"),    std::string_view("cudaDeviceSynchronize"),
      std::string_view("cudaThreadSynchronize"), std::string_view("cudaStreamSynchronize"),
      std::string_view("cudaEventSynchronize")};
  if (std::ranges::find(kWaiting, name) != kWaiting.end()) return true;
  const bool copies = name.starts_with("cuMemcpy") || name.starts_with("cudaMemcpy");
  return copies && name.find("Async") == std::string_view::npos;
}

bool Allocates(std::string_view name) {
  constexpr std::array kPrefixes = {
      std::string_view("cuMemAlloc"),      std::string_view("cuMemFree"),
      std::string_view("cuMemCreate"),     std::string_view("cuMemHostAlloc"),
      std::string_view("cuMemHostReg"),    std::string_view("cuMemHostUnreg"),
      std::string_view("cuMemMap"),        std::string_view("cuMemUnmap"),
      std::string_view("cuArrayCreate"),   std::string_view("cudaMalloc"),
      std::string_view("cudaFree"),        std::string_view("cudaHostAlloc"),
      std::string_view("cudaHostRegister")};
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return name.starts_with(prefix); });
}

CudaCalls Those(const CudaCalls& calls, bool (*wanted)(std::string_view)) {
  CudaCalls found;
  for (const auto& [name, count] : calls) {
    const std::string_view documented = Documented(name);
    if (wanted(documented)) found[std::string(documented)] += count;
  }
  return found;
}

std::string Listed(const CudaCalls& calls) {
  std::vector<std::string> names;
  for (const auto& [name, count] : calls) {
    names.push_back(count == 1 ? name : fmt::format("{} ({} times)", name, count));
  }
  return Join(names, ", ");
}

// One contestant's examination. Its verdict is put back after every step, since a candidate that is
// not fit may be right and fast all the same; a worker that died is missed by the steps that
// follow.
class Examination {
 public:
  Examination(Session& session, Contestant& contestant)
      : session_(session), contestant_(contestant), kept_(contestant.verdict) {}

  Result<std::vector<FitnessItem>> Run();

 private:
  Result<void> Determinism();
  Result<std::vector<uint64_t>> Bits(size_t slot);
  Result<void> OnGpu();
  Result<void> OnCpu();
  Result<void> Watch();
  Result<void> Graph();
  Result<bool> Replays();
  void JudgeWatched(const Json& reply);

  void Say(std::string name, Answer answer, std::string why) {
    items_.push_back({.name = std::move(name), .answer = answer, .why = std::move(why)});
  }
  // Why the last step failed, and the verdict as it was.
  std::string Failure() {
    std::string reason = contestant_.verdict.reason;
    contestant_.verdict = kept_;
    if (reason.empty() && !alive()) return "its worker is gone";
    return reason.substr(0, reason.find('\n'));
  }
  bool alive() const { return contestant_.worker_pid().has_value(); }

  Session& session_;
  Contestant& contestant_;
  const Verdict kept_;
  std::vector<FitnessItem> items_;
};

// Fingerprints have a secret of their arena in them; those of equal outputs are equal only when
// both lie in the same one.
Result<std::vector<uint64_t>> Examination::Bits(size_t slot) {
  device::Arena& from = contestant_.output(slot);
  device::Arena& to = session_.want();
  for (const device::TensorPlace& place : from.layout().places) {
    TRY(to.Copy(place.offset, from, place.offset, place.tensor.Bytes()));
  }
  return to.Fingerprints();
}

Result<void> Examination::Determinism() {
  const char* const name = "deterministic";
  const bool declared = contestant_.candidate().deterministic;
  const std::string differs =
      declared ? "equal inputs gave outputs of other bits; say deterministic = false in "
                 "candidate.toml if that is meant"
               : "declared not to be, and equal inputs gave outputs of other bits";
  // The correctness gate repeats calls on a disturbed machine; what it saw counts too.
  if (kept_.deterministic == false) {
    Say(name, declared ? Answer::kNo : Answer::kYes, differs);
    return {};
  }
  for (int twin = 0; twin < kTwins; ++twin) {
    const int64_t seed = RandomSeed();
    std::vector<std::vector<uint64_t>> outputs;
    for (const size_t slot : {size_t{0}, size_t{1}}) {
      TRY(session_.Refill(slot, "typical", seed));
      TRY(PrepareSlot(session_, contestant_, slot));
      if (!TRY(contestant_.Call(slot))) {
        Say(name, Answer::kNo, "a further call failed: " + Failure());
        return {};
      }
      outputs.push_back(TRY(Bits(slot)));
    }
    if (outputs[0] == outputs[1]) continue;
    Say(name, declared ? Answer::kNo : Answer::kYes, differs);
    return {};
  }
  Say(name, Answer::kYes,
      fmt::format("{} pairs of equal inputs at different addresses gave the same bits{}", kTwins,
                  declared ? "" : ", though it is declared not to be"));
  return {};
}

void Examination::JudgeWatched(const Json& reply) {
  const Json* const watched = reply.Find("watched");
  Result<CudaCalls> calls = watched == nullptr ? Fail(ErrorKind::kInput, "the worker says nothing")
                                               : ParseCudaCalls(*watched);
  const std::string unseen = calls ? "" : "could not be watched: " + calls.error().message();
  const CudaCalls waiting = calls ? WaitingCalls(*calls) : CudaCalls{};
  const CudaCalls allocating = calls ? AllocatingCalls(*calls) : CudaCalls{};
  const auto say = [&](const char* name, const CudaCalls& found, const char* none) {
    const bool fine = unseen.empty() && found.empty();
    Say(name, fine ? Answer::kYes : Answer::kNo,
        fine ? none : (unseen.empty() ? "run called " + Listed(found) : unseen));
  };
  say("host_synchronisation", waiting, "run called nothing that waits for the device");
  say("allocation", allocating, "run called nothing that allocates or frees");

  int64_t temporary = 0;
  if (const Json* bytes = reply.Find("temporary_bytes"); bytes != nullptr && bytes->is_int()) {
    temporary = bytes->as_int();
  }
  // Outputs that a Model returns come from the framework's pool, and are no workspace.
  int64_t outputs = 0;
  for (const Tensor& tensor : session_.workload().outputs) outputs += tensor.Bytes() + 512;
  const int64_t stated = contestant_.workspace_bytes();
  const bool fits = temporary <= stated + outputs;
  Say("workspace", fits ? Answer::kYes : Answer::kNo,
      fits ? fmt::format("states {} bytes", stated)
           : fmt::format("states {} bytes, and took {} more from the framework's pool", stated,
                         temporary));
}

Result<void> Examination::Watch() {
  TRY(session_.Refill(0, "typical"));
  TRY(PrepareSlot(session_, contestant_, 0));
  Json reply = Json::MakeObject();
  if (alive() && TRY(contestant_.Fit(0, "watch", &reply))) {
    JudgeWatched(reply);
    return {};
  }
  const std::string why = "could not be watched: " + Failure();
  for (const char* name : {"host_synchronisation", "allocation", "workspace"}) {
    Say(name, Answer::kNo, why);
  }
  return {};
}

// On inputs that did not exist when the call was captured, so that a captured answer is wrong.
Result<bool> Examination::Replays() {
  TRY(session_.Refill(0, "typical"));
  TRY(PrepareSlot(session_, contestant_, 0));
  Json reply;
  if (!TRY(contestant_.Fit(0, "replay", &reply))) return false;
  SeenOutputs seen;
  if (!TRY(CheckSafety(session_, contestant_, 0, Gate::kPerformance, &seen))) return false;
  TRY(session_.Expect(0));
  return CheckValues(session_, contestant_, 0, Gate::kPerformance, {});
}

Result<void> Examination::Graph() {
  const char* const name = "cuda_graph";
  // Whatever a capture that failed leaves behind, the next workload shall not find it.
  contestant_.RetireWorker();
  Json reply = Json::MakeObject();
  if (!alive() || !TRY(contestant_.Fit(0, "capture", &reply))) {
    Say(name, Answer::kNo, "could not be captured: " + Failure());
    return {};
  }
  const Result<bool> captured = reply.Bool("captured");
  if (!captured || !*captured) {
    const Result<std::string> why = reply.String("why");
    Say(name, Answer::kNo, why ? *why : "the worker does not say whether it was captured");
    return {};
  }
  if (TRY(Replays())) {
    Say(name, Answer::kYes, "captured, and right when replayed on fresh inputs");
  } else {
    Say(name, Answer::kNo, "captured, but its replay on fresh inputs is not right: " + Failure());
  }
  return {};
}

Result<void> Examination::OnGpu() {
  TRY(Watch());
  return Graph();
}

Result<void> Examination::OnCpu() {
  Say("cuda_graph", Answer::kNotApplicable, "a CPU has none");
  Say("host_synchronisation", Answer::kNotApplicable, "run returns when it is done");
  const std::optional<pid_t> pid = contestant_.worker_pid();
  // Allocators fill their pools first; what grows after as many calls again is the calls'.
  std::optional<int64_t> before;
  for (int call = 0; call < 2 * kGrowthCalls && alive(); ++call) {
    if (call == kGrowthCalls) before = worker::HeldBytes(*pid);
    if (!TRY(contestant_.Call(0))) break;
  }
  const std::optional<int64_t> after = alive() ? worker::HeldBytes(*pid) : std::nullopt;
  const std::string workspace =
      fmt::format("states {} bytes; what malloc gives within a call is not seen on a CPU",
                  contestant_.workspace_bytes());
  if (!before || !after) {
    const std::string failure = Failure();
    Say("allocation", Answer::kNo,
        failure.empty() ? "the memory of the worker cannot be read"
                        : "further calls failed: " + failure);
  } else {
    const int64_t growth = *after - *before;
    Say("allocation", growth <= kGrowthLimit ? Answer::kYes : Answer::kNo,
        fmt::format("its memory grew by {} bytes over {} calls; the limit is {}",
                    std::max<int64_t>(0, growth), kGrowthCalls, kGrowthLimit));
  }
  Say("workspace", Answer::kYes, workspace);
  return {};
}

Result<std::vector<FitnessItem>> Examination::Run() {
  TRY(Determinism());
  if (session_.device().info().kind == DeviceKind::kCuda) {
    TRY(OnGpu());
  } else {
    TRY(OnCpu());
  }
  return std::move(items_);
}

}  // namespace

Result<CudaCalls> ParseCudaCalls(const Json& watched) {
  if (const std::string fault = TRY(watched.String("fault")); !fault.empty()) {
    return Fail(ErrorKind::kInput, fault);
  }
  CudaCalls calls;
  for (const auto& [name, count] : TRY(watched.ObjectAt("calls"))->object()) {
    if (!count.is_int()) return Fail(ErrorKind::kInput, name + ": a count is no number");
    calls[name] = count.as_int();
  }
  return calls;
}

CudaCalls WaitingCalls(const CudaCalls& calls) {
  return Those(calls, Waits);
}

CudaCalls AllocatingCalls(const CudaCalls& calls) {
  return Those(calls, Allocates);
}

Result<void> RunFitness(Session& session, const std::vector<Contestant*>& contestants,
                        const JudgeOptions& options) {
  if (!options.check_fitness) return {};
  for (Contestant* contestant : contestants) {
    if (contestant == options.baseline || !contestant->verdict.passed()) continue;
    std::vector<FitnessItem> items = TRY(Examination(session, *contestant).Run());
    contestant->verdict.fitness = std::move(items);
  }
  return {};
}

}  // namespace roofmark::gate
