// SPDX-License-Identifier: Apache-2.0
// The speed of light: the least time in which a device could do a workload, and which of its limits
// gives that time. docs/method.md derives it; nothing here depends on any kernel.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/stats.h"
#include "model/device_card.h"
#include "model/workload.h"

namespace roofmark::roofline {

// Which ceilings of a card. Every attainment says which it is against.
enum class CeilingKind { kDatasheet, kMeasured };
std::string_view CeilingKindName(CeilingKind against);  // "datasheet" "measured"
Result<CeilingKind> ParseCeilingKind(std::string_view name);

// Whether the least time of any launch counts as a limit.
enum class LaunchFloor { kWithout, kWith };

// One limit: amount / rate.
struct Term {
  std::string name;     // an engine's name, "memory" or "launch"
  double ns = 0;        // the time that this limit alone would take
  double amount = 0;    // operations or bytes; 1 for "launch"
  double rate = 0;      // per second; launches a second for "launch"
  std::string ceiling;  // whose rate it is, e.g. "datasheet vector_f32"
};

struct SolTime {
  double sol_ns = 0;               // 0: no ceiling of the card applies; the notes say why
  std::string bound_by;            // the name of the term that gives it; empty where there is none
  std::vector<Term> terms;         // in the order of Engine, then memory, then launch
  std::vector<std::string> notes;  // a ceiling that stood in for another, a term left out
};

// T = max over engines of W_e / P_e, Q / B, and the launch floor.
//
// Where the chosen ceilings lack an engine, these stand in, first found first:
//   the same engine of the card's other ceilings, then the engines that could do the work at all:
//   tensor_bf16 and tensor_f16 for one another (both form exact products with f32 sums), then
//   vector_f32; tensor_fp8: tensor_bf16, tensor_f16, vector_f32 (an fp8 value is exact in bf16);
//   tensor_tf32: vector_f32; special: vector_f32 (no device does a transcendental faster than one
//   of its vector operations). vector_f32 has no stand-in.
// The bound stays a lower one as long as the card lists the fastest engine that the device has.
// A term with no ceiling at all is left out. Each of these is noted. Terms overlap and are never
// added. Inputs declared warm are not read from memory where all of them fit the card's L2.
// Where the card lacks the chosen ceilings altogether there is no SOL time (0, with a note): the
// other ones never take their place silently.
SolTime ComputeSol(const Workload& workload, const DeviceCard& card, CeilingKind against,
                   LaunchFloor floor);

// As the public benchmark has it (arXiv 2607.14541): max(sum over dtypes of W_d / P_d, Q / B) from
// the released W and Q, datasheet peaks, no launch floor. Shapes that it did not release get
// ComputeSol(datasheet, without floor), with a note. Errors: kInput for released work of a dtype
// that is not in the release's own table.
Result<SolTime> ComputePublishedSol(const Workload& workload, const DeviceCard& card);

// S = SOL time / time, with the interval that the times give. Requires: times > 0.
Interval Attainment(double sol_ns, const Interval& time_ns);

// A line of `roofmark roofline --json`: operator, shape, phase, device, work, traffic_bytes,
// sol_ns, bound_by, against, terms (ns by name), notes.
Json RooflineRow(const Workload& workload, const DeviceCard& card, CeilingKind against,
                 const SolTime& sol);

}  // namespace roofmark::roofline
