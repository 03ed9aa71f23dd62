// SPDX-License-Identifier: Apache-2.0
#include "pipeline/lint_suite.h"

#include <chrono>
#include <memory>

#include "base/elapsed.h"
#include "device/device.h"
#include "gate/reference.h"

namespace roofmark::pipeline {
namespace {

using Clock = std::chrono::steady_clock;

const std::vector<std::string>& RegimesOr(const std::vector<std::string>& regimes) {
  static const std::vector<std::string> all = {"typical", "heavy_tail", "offset"};
  return regimes.empty() ? all : regimes;
}

Result<std::optional<gate::Admission>> Look(const Workload& workload, device::Device& machine,
                                            gate::Reference& reference,
                                            const std::vector<std::string>& regimes,
                                            bool references_only) {
  if (!references_only) {
    return std::optional(TRY(gate::Admit(workload, machine, reference, regimes)));
  }
  TRY(gate::RunReference(workload, machine, reference, regimes));
  return std::optional<gate::Admission>();
}

}  // namespace

Result<void> LintSuite(const std::vector<Workload>& workloads, const LintOptions& options,
                       const LintSink& sink) {
  const DeviceKind device = options.device;
  const std::unique_ptr<device::Device> machine =
      TRY(device == DeviceKind::kCpu ? device::OpenCpu() : device::OpenCuda());
  std::optional<gate::Reference> reference;
  const Operator* current = nullptr;
  size_t done = 0;
  for (const Workload& workload : workloads) {
    if (workload.op != current || !reference) {
      reference.reset();  // its memory, before the next one starts
      reference = TRY(gate::Reference::Start(*workload.op, device));
      current = workload.op;
    }
    const Clock::time_point begin = Clock::now();
    LintFinding finding{.workload = &workload};
    const auto regimes = RegimesOr(options.regimes);
    Result<std::optional<gate::Admission>> admission =
        Look(workload, *machine, *reference, regimes, options.references_only);
    finding.seconds = SecondsSince(begin);
    if (admission) {
      finding.admission = std::move(*admission);  // nothing for a reference alone
    } else if (admission.error().kind() == ErrorKind::kDevice) {
      finding.left_out = admission.error().message();
      // What failed may have left the worker in any state.
      reference.reset();
    } else {
      return std::unexpected(Error(admission.error()));
    }
    sink(finding, ++done, workloads.size());
  }
  return {};
}

Json LintFindingToJson(const LintFinding& finding) {
  Json row = finding.admission ? gate::AdmissionToJson(*finding.workload, *finding.admission)
                               : Json::MakeObject()
                                     .Set("operator", finding.workload->op->name)
                                     .Set("shape", finding.workload->shape.id)
                                     .Set("phase", PhaseName(finding.workload->shape.phase))
                                     .Set("admitted", Json());
  row.Set("left_out", finding.left_out.empty() ? Json() : Json(finding.left_out));
  row.Set("seconds", finding.seconds);
  return row;
}

}  // namespace roofmark::pipeline
