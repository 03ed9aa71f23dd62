// SPDX-License-Identifier: Apache-2.0
// Whether a workload may be in a suite: every honest way of computing it must pass its tolerance
// and every wrong program must fail it, on this very shape. The programs are an operator's own
// variants.py; the reference worker runs them, and the comparison is the judge's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "device/device.h"
#include "gate/reference.h"
#include "model/workload.h"

namespace roofmark::gate {

// How far a program was from the bound: 1 is on it. For an output with several bounds the largest.
struct Margin {
  std::string program;
  std::string regime;
  double ratio = 0;
};

struct Admission {
  int64_t honest_tried = 0;
  int64_t honest_accepted = 0;
  int64_t wrong_tried = 0;
  int64_t wrong_refused = 0;
  int64_t own_wrong_tried = 0;          // of wrong_tried, those of the operator's own programs
  std::optional<Margin> worst_honest;   // the honest program that came nearest to the bound
  std::optional<Margin> nearest_wrong;  // the wrong one that came nearest
  // Why the workload is not admitted; empty when it is.
  std::vector<std::string> faults;
  // Programs that could not be tried here, each with its reason (memory).
  std::vector<std::string> not_tried;

  bool admitted() const { return faults.empty() && honest_tried > 0 && own_wrong_tried > 0; }
};

// Runs each program of `reference` that applies to the workload under the regimes. One more wrong
// program is the answer to other inputs. Seeds are drawn anew. Errors: kDevice when the workload
// does not fit; kInput where the operator has no programs or its reference fails.
Result<Admission> Admit(const Workload& workload, device::Device& device, Reference& reference,
                        const std::vector<std::string>& regimes);

// Draws inputs and computes the expected outputs once a regime; kInput where they are not finite.
Result<void> RunReference(const Workload& workload, device::Device& device, Reference& reference,
                          const std::vector<std::string>& regimes);

// A line of `roofmark suite lint --json`.
Json AdmissionToJson(const Workload& workload, const Admission& admission);

}  // namespace roofmark::gate
