// SPDX-License-Identifier: Apache-2.0
// roofmark roofline: the speed-of-light time of each workload on any device card, with its reasons.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/args.h"
#include "cli/selection.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"

namespace roofmark::cli {

Result<int> Roofline(const RooflineArgs& args) {
  const DeviceCard card = TRY(roofline::FindDeviceCard(args.device));
  const suite::Suite suite = TRY(LoadSelection(args.selection, "published,corrected"));
  const roofline::CeilingKind against =
      args.measured ? roofline::CeilingKind::kMeasured : roofline::CeilingKind::kDatasheet;
  if (args.format == Format::kText) {
    fmt::print("{:20} {:24} {:8} {:>12} {:>12}  {}\n", "operator", "shape", "phase", "traffic",
               "SOL time", "bound by");
  }
  for (const Workload& workload : suite.workloads) {
    const roofline::SolTime sol =
        args.published
            ? TRY(roofline::ComputePublishedSol(workload, card))
            : roofline::ComputeSol(workload, card, against, roofline::LaunchFloor::kWithout);
    if (args.format == Format::kJson) {
      fmt::print("{}\n", roofline::RooflineRow(workload, card, against, sol).Dump());
    } else {
      fmt::print("{:20} {:24} {:8} {:>12} {:>12}  {}\n", workload.op->name, workload.shape.id,
                 PhaseName(workload.shape.phase), HumanBytes(workload.traffic.Total()),
                 HumanTime(sol.sol_ns), sol.bound_by);
    }
  }
  return 0;
}

}  // namespace roofmark::cli
