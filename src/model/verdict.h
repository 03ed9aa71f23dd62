// SPDX-License-Identifier: Apache-2.0
// What the judge says about one candidate on one workload. Outcomes are a closed set, each belongs
// to one gate, and none carries a default number: a time exists only when it was measured.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"
#include "model/against.h"
#include "model/candidate.h"
#include "model/shape.h"

namespace roofmark {

enum class Gate { kCompile, kCorrectness, kPerformance };
std::string_view GateName(Gate gate);
Result<Gate> ParseGate(std::string_view name);

enum class Outcome {
  kPassed,
  // compile
  kCompileError,
  kCompileTimeout,
  kBadInterface,
  kVendorLibrary,
  // correctness
  kWrongOutput,
  kNonFinite,
  kNotWritten,
  kOutOfBounds,
  kInputMutated,
  kWrongStructure,
  kCrashed,
  kTimedOut,
  kOutOfMemory,
  kRuntimeError,
  kStaleOutput,
  // performance
  kUnstable,
  kClocksDisagree,
  kUnsynchronised,
  kFasterThanLight,
  kFallback,
  // any
  kUnsupported,
  kNotRun,
};
std::string_view OutcomeName(Outcome outcome);
Result<Outcome> ParseOutcome(std::string_view name);

// Who a piece of device time belongs to, by provenance of the code object. kPrebuilt is code that
// the candidate brought along ready-made: no compiler that the judge knows of made it from source.
enum class Owner { kOwn, kDsl, kVendor, kFramework, kCompiler, kPrebuilt, kRuntime, kUnknown };
inline constexpr size_t kOwnerCount = 8;
std::string_view OwnerName(Owner owner);
Result<Owner> ParseOwner(std::string_view name);
using Shares = std::array<double, kOwnerCount>;  // sum 1, or all 0 where nothing ran

// (own + dsl) / (everything but runtime); 0 where nothing but runtime ran.
double Adoption(const Shares& shares);

struct Clocks {
  Interval device;  // ns; CUPTI span on a GPU, the worker's own clock on a CPU
  Interval event;   // ns; stream events on a GPU, task clock on a CPU
  Interval host;    // ns; the judge's own clock
};

// A workload is launch-bound where its speed of light or its time is under this many launch floors.
// Source: BackendBench calls a kernel overhead-bound under 1.3 times an empty launch.
inline constexpr double kLaunchBound = 1.3;

// One thing that a server needs of a kernel, and whether this one has it.
struct FitnessItem {
  enum class Answer { kYes, kNo, kNotApplicable };
  std::string name;  // "cuda_graph", "host_synchronisation", "allocation", "workspace", ...
  Answer answer = Answer::kNo;
  std::string why;
};
std::string_view AnswerName(FitnessItem::Answer answer);  // "yes" "no" "not_applicable"
// {"item", "answer", "why"}.
Json FitnessToJson(const FitnessItem& item);

struct Verdict {
  std::string operator_name;
  std::string shape;
  Phase phase = Phase::kUnknown;
  std::string candidate;
  std::string candidate_hash;
  Lane lane = Lane::kCpp;
  Role role = Role::kCandidate;
  std::string device;
  Gate gate = Gate::kCompile;  // the last gate entered
  Outcome outcome = Outcome::kNotRun;
  std::string reason;               // for a person: what was seen, where
  std::optional<Interval> time_ns;  // published time; present only when performance was measured
  std::optional<Interval> attainment;
  std::string attainment_against;  // "datasheet" or "measured"
  std::optional<Clocks> clocks;
  std::optional<Shares> shares;      // absent where the machine could not tell; the level says so
  std::vector<double> samples_ns;    // the raw samples of time_ns, in order
  std::vector<std::string> kernels;  // what ran, "owner share name"
  std::string level;                 // what could be enforced on this machine, and what not
  double max_error = 0;              // largest element error over its tolerance; 1 = at the limit
  // Whether calls with equal inputs, at other addresses and on a disturbed machine, gave the same
  // bits each time; unknown where no call was repeated.
  std::optional<bool> deterministic;
  Mode mode = Mode::kEager;  // how the timed calls were made
  // Whether the speed of light or the time is so near the device's launch floor that the kernel has
  // little to do with it (kLaunchBound); unknown where the device's card has no floor.
  std::optional<bool> launch_bound;
  std::vector<FitnessItem> fitness;  // for serving, where that was asked for
  std::optional<Against> against;    // with the baseline that it was judged against, if any
  // What reproducing it takes beside the rest (gate/evidence.h); the store keeps it apart, and
  // VerdictToJson leaves it out. Null where there is none.
  Json evidence;

  bool passed() const { return outcome == Outcome::kPassed; }
};

// One object a line, with the keys that `judge --json` promises; `samples_ns` only when asked.
enum class Samples { kOmit, kInclude };
Json VerdictToJson(const Verdict& verdict, Samples samples);
Result<Verdict> VerdictFromJson(const Json& json);

}  // namespace roofmark
