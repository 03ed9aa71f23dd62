// SPDX-License-Identifier: Apache-2.0
#include "gate/output_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "gate/dump.h"
#include "gate/grouped.h"
#include "gate/ledger.h"

namespace roofmark::gate {
namespace {

std::string IndexText(const Tensor& tensor, int64_t flat) {
  std::vector<int64_t> index(tensor.sizes.size());
  for (size_t i = tensor.sizes.size(); i-- > 0;) {
    index[i] = flat % tensor.sizes[i];
    flat /= tensor.sizes[i];
  }
  return fmt::format("{}[{}]", tensor.name, fmt::join(index, ", "));
}

// The largest of n rounding errors grows with n even when each is honest. Bounds are placed on
// outputs of up to 2^20 elements (tests/operators); beyond, the part that scales with the output's
// rms follows the expected maximum of n normal errors, sqrt(2 ln n).
// Source: Embrechts, Kluppelberg, Mikosch, Modelling Extremal Events, section 3.3 (normal law).
Tolerance ForElements(Tolerance tolerance, int64_t elements) {
  const double growth =
      std::log(static_cast<double>(std::max<int64_t>(elements, 2))) / std::log(0x1p20);
  tolerance.atol_rms *= std::sqrt(std::max(1.0, growth));
  return tolerance;
}

}  // namespace

std::optional<std::pair<Outcome, std::string>> FaultIn(const device::Comparison& found,
                                                       const Tensor& tensor) {
  if (found.within && found.poisoned == 0 && found.non_finite == 0) return std::nullopt;
  if (found.poisoned > 0) {
    return std::pair(Outcome::kNotWritten,
                     fmt::format("{} of {} elements of {} were never written", found.poisoned,
                                 found.elements, tensor.name));
  }
  if (found.non_finite > 0) {
    return std::pair(Outcome::kNonFinite,
                     fmt::format("{} of {} elements of {} are NaN or infinite, first {}",
                                 found.non_finite, found.elements, tensor.name,
                                 IndexText(tensor, std::max<int64_t>(found.first_wrong, 0))));
  }
  if (found.wrong > 0) {
    return std::pair(
        Outcome::kWrongOutput,
        fmt::format("{} of {} elements outside the tolerance (worst {:.3g} times it, relative L2 "
                    "{:.3g}); first {}: got {:.6g}, want {:.6g}",
                    found.wrong, found.elements, found.max_ratio, found.rel_l2,
                    IndexText(tensor, found.first_wrong), found.got, found.want));
  }
  return std::pair(Outcome::kWrongOutput,
                   fmt::format("relative L2 error {:.3g} of {} is over the tolerance, though each "
                               "element is within its own",
                               found.rel_l2, tensor.name));
}

Result<device::Comparison> CompareOutput(device::Device& device, device::Arena& got,
                                         device::Arena& want, size_t place,
                                         const Tolerance& tolerance) {
  if (tolerance.kind == CompareKind::kGrouped) return CompareGrouped(got, want, place, tolerance);
  const int64_t elements = want.layout().places[place].tensor.Elements();
  return device.Compare(got, want, place, ForElements(tolerance, elements));
}

Result<void> PrepareSlot(Session& session, Contestant& contestant, size_t slot) {
  const Stretch stretch(Part::kCompare, contestant.account());
  device::Arena& out = contestant.output(slot);
  TRY(out.Poison());
  for (const device::TensorPlace& place : out.layout().places) {
    if (!place.tensor.in_place) continue;
    device::Arena& in = session.input(slot);
    const auto before =
        std::ranges::find(in.layout().places, place.tensor.name,
                          [](const device::TensorPlace& at) { return at.tensor.name; });
    CHECK(before != in.layout().places.end());  // the card reader refuses cards without it
    TRY(out.Copy(place.offset, in, before->offset, place.tensor.Bytes()));
  }
  return {};
}

Result<bool> CheckUntouched(Session& session, Contestant& contestant, size_t slot, Gate gate) {
  if (!TRY(contestant.output(slot).GuardsIntact())) {
    contestant.Refuse(gate, Outcome::kOutOfBounds,
                      "bytes before or after the outputs were overwritten");
    return false;
  }
  if (!TRY(contestant.WorkspaceIntact())) {
    contestant.Refuse(gate, Outcome::kOutOfBounds,
                      "bytes before or after the workspace were overwritten");
    return false;
  }
  if (!TRY(session.Intact(slot))) {
    contestant.Refuse(gate, Outcome::kInputMutated, "inputs changed during the call");
    return false;
  }
  return true;
}

Result<bool> CheckSafety(Session& session, Contestant& contestant, size_t slot, Gate gate,
                         SeenOutputs* seen) {
  const Stretch stretch(Part::kCompare, contestant.account());
  if (!TRY(CheckUntouched(session, contestant, slot, gate))) return false;
  if (!seen->insert(TRY(contestant.output(slot).Fingerprints())).second) {
    // A buffer that is still all poison repeats too; CheckValues names that better.
    TRY(session.Expect(slot));
    const bool values_right = TRY(CheckValues(session, contestant, slot, gate, {}));
    // Few outputs are possible for some small shapes of integers, and a right answer is right.
    if (values_right) return true;
    if (contestant.verdict.outcome == Outcome::kNotWritten) return false;
    contestant.Refuse(gate, Outcome::kStaleOutput,
                      "the output repeats that of an earlier call with other inputs");
    return false;
  }
  return true;
}

Result<bool> CheckValues(Session& session, Contestant& contestant, size_t slot, Gate gate,
                         const CheckOptions& options) {
  const Stretch stretch(Part::kCompare, contestant.account());
  const Operator& op = *session.workload().op;
  for (size_t place = 0; place < session.workload().outputs.size(); ++place) {
    const Tensor& tensor = session.workload().outputs[place];
    const auto tolerance = op.tolerance.find(tensor.name);
    CHECK(tolerance != op.tolerance.end());  // the card reader refuses cards without it
    const device::Comparison found = TRY_IN(CompareOutput(session.device(), contestant.output(slot),
                                                          session.want(), place, tolerance->second),
                                            "comparing " + session.workload().Id());
    contestant.verdict.max_error = std::max(contestant.verdict.max_error, found.max_ratio);
    const auto fault = FaultIn(found, tensor);
    if (!fault) continue;
    std::string reason = fault->second;
    if (!options.dump_dir.empty()) {
      reason += "; tensors in " + TRY(DumpSlot(session, contestant, slot, options.dump_dir));
    }
    contestant.Refuse(gate, fault->first, std::move(reason));
    return false;
  }
  return true;
}

}  // namespace roofmark::gate
