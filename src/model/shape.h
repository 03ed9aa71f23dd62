// SPDX-License-Identifier: Apache-2.0
// A shape is everything that a workload fixes before values are drawn: sizes, integer lists such as
// sequence lengths, and scalar attributes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace roofmark {

enum class Phase { kPrefill, kDecode, kMixed, kUnknown };
std::string_view PhaseName(Phase phase);  // "prefill" "decode" "mixed" "unknown"
Result<Phase> ParsePhase(std::string_view name);

// published: as the public benchmark has it; corrected: ours; small: a CPU finishes it in seconds;
// mined: found in a profile; imported: as another benchmark has it (`suite import`).
enum class Tier { kPublished, kCorrected, kSmall, kMined, kImported };
std::string_view TierName(Tier tier);
Result<Tier> ParseTier(std::string_view name);

// A size, a list (sequence lengths), or a real attribute (eps).
using AxisValue = std::variant<int64_t, std::vector<int64_t>, double>;
using Axes = std::map<std::string, AxisValue, std::less<>>;

// What the public benchmark released for a shape; never shown to a candidate or its author.
struct Published {
  std::map<std::string, double> work;  // FLOP by dtype key as released, e.g. "bf16"
  double read_bytes = 0;
  double write_bytes = 0;
  std::map<std::string, double> sol_us;         // by device
  std::map<std::string, double> production_us;  // by device
  bool present = false;
};

struct Shape {
  std::string id;  // published shapes keep their released id
  Tier tier = Tier::kCorrected;
  Phase phase = Phase::kUnknown;
  Axes axes;
  // Judged and weighed like any other, but in no bundle and in no public part of a release.
  bool hidden = false;
  Published published;
  // How an imported problem builds its class: {"args", "kwargs", "seed", "training", "call"}; null
  // elsewhere. Candidates are told. args and kwargs go to the constructor (tuples are {"__tuple__":
  // [...]}), after all generators were seeded; "training" keeps the training mode; "call" gives the
  // arguments of forward in order, {"input": name} or {"value": constant}.
  Json construct;
};

// {"tokens": 8, "seq_lens": [1, 2], "eps": 1e-6}; the inverse also accepts run-length lists
// {"rle": [[value, count], ...]}. Errors: kInput for anything else, for sizes under 0, and for
// lists over 2^24 entries.
Json AxesToJson(const Axes& axes);
Result<Axes> AxesFromJson(const Json& json);

}  // namespace roofmark
