// SPDX-License-Identifier: Apache-2.0
// roofmark roofline: the speed-of-light time of each workload on any device card, with its reasons.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "base/text.h"
#include "cli/args.h"
#include "cli/selection.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "suite/make_workload.h"

namespace roofmark::cli {
namespace {

void PrintRow(const Workload& workload, const roofline::SolTime& sol) {
  fmt::print("{:30} {:24} {:8} {:>12} {:>12}  {}\n", workload.op->name, workload.shape.id,
             PhaseName(workload.shape.phase), HumanBytes(workload.traffic.Total()),
             HumanTime(sol.sol_ns), sol.bound_by);
}

double Sum(const std::map<std::string, double>& work) {
  double sum = 0;
  for (const auto& [dtype, ops] : work) sum += ops;
  return sum;
}

std::string Change(double ours, double released) {
  if (released <= 0) return ours > 0 ? "new" : "same";
  if (ours == released) return "same";
  return fmt::format("{:+.2f} %", 100 * (ours / released - 1));
}

// One published shape whose figures ours are not, and why.
struct Difference {
  double work = 0;
  double traffic = 0;
  roofline::SolTime ours;
  roofline::SolTime released;
};

Json DifferenceToJson(const Workload& workload, const DeviceCard& card, const Difference& found) {
  const Published& published = workload.shape.published;
  return Json::MakeObject()
      .Set("operator", workload.op->name)
      .Set("shape", workload.shape.id)
      .Set("device", card.name)
      .Set("work", found.work)
      .Set("work_released", Sum(published.work))
      .Set("traffic_bytes", found.traffic)
      .Set("traffic_bytes_released", published.read_bytes + published.write_bytes)
      .Set("sol_ns", found.ours.sol_ns)
      .Set("sol_ns_released", found.released.sol_ns)
      .Set("bound_by", found.ours.bound_by)
      .Set("why", workload.op->published.differs);
}

// Each published shape where our W, Q or speed-of-light time is not the released one.
Result<int> Explain(const suite::Suite& suite, const DeviceCard& card, const RooflineArgs& args) {
  int64_t differ = 0;
  int64_t published = 0;
  std::set<std::string> explained;
  for (const Workload& workload : suite.workloads) {
    if (!workload.shape.published.present) continue;
    ++published;
    Difference found{.traffic = workload.traffic.Total(),
                     .ours = roofline::ComputeSol(workload, card, roofline::CeilingKind::kDatasheet,
                                                  roofline::LaunchFloor::kWithout),
                     .released = TRY(roofline::ComputePublishedSol(workload, card))};
    for (const double ops : workload.work) found.work += ops;
    const Published& released = workload.shape.published;
    const double bytes = released.read_bytes + released.write_bytes;
    const bool same_time =
        std::fabs(found.ours.sol_ns - found.released.sol_ns) <= 1e-6 * found.released.sol_ns;
    if (found.work == Sum(released.work) && found.traffic == bytes && same_time) continue;
    ++differ;
    if (args.format == Format::kJson) {
      fmt::print("{}\n", DifferenceToJson(workload, card, found).Dump());
      continue;
    }
    if (explained.insert(workload.op->name).second) {
      fmt::print("\n{}: {}\n", workload.op->name, workload.op->published.differs);
    }
    fmt::print("  {:24} W {:>10}  Q {:>10}  SOL {:>12} -> {:>12} ({}), {}\n", workload.shape.id,
               Change(found.work, Sum(released.work)), Change(found.traffic, bytes),
               HumanTime(found.released.sol_ns), HumanTime(found.ours.sol_ns),
               Change(found.ours.sol_ns, found.released.sol_ns), found.ours.bound_by);
  }
  if (args.format == Format::kText) {
    fmt::print("\n{} of {} published shapes differ on {}\n", differ, published, card.name);
  }
  return 0;
}

}  // namespace

Result<int> Roofline(const RooflineArgs& args) {
  const DeviceCard card = TRY(roofline::FindDeviceCard(args.device));
  const suite::Suite suite = TRY(LoadSelection(args.selection, "published,corrected"));
  if (args.explain) return Explain(suite, card, args);
  const roofline::CeilingKind against =
      args.measured ? roofline::CeilingKind::kMeasured : roofline::CeilingKind::kDatasheet;
  if (args.format == Format::kText) {
    fmt::print("{:30} {:24} {:8} {:>12} {:>12}  {}\n", "operator", "shape", "phase", "traffic",
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
      PrintRow(workload, sol);
    }
  }
  return 0;
}

}  // namespace roofmark::cli
