// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_unreported.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/stats.h"
#include "base/text.h"
#include "gate/cuda_provenance.h"

namespace roofmark::gate {
namespace {

// A wait for other streams that are done already takes a little more than one for nothing.
constexpr double kJoinNs = 5000;

// The least that a pair of events reads more than CUPTI's span (cuda_clocks.cc).
constexpr double kLeastEventOffsetNs = 3000;

// How long at least one of the call's operations was on the device. They are ordered by start.
double BusyNs(const MeterReport& report, const CallSpan& call) {
  int64_t busy = 0;
  int64_t until = 0;
  for (const size_t index : call.operations) {
    const MeteredOperation& operation = report.operations[index];
    const int64_t from = std::max(until, operation.start_ns);
    busy += std::max(int64_t{0}, operation.end_ns - from);
    until = std::max(until, operation.end_ns);
  }
  return static_cast<double>(busy);
}

}  // namespace

Result<StageFindings> ReadFindings(const Json& stage, size_t calls) {
  StageFindings found{.set_aside = TRY(stage.Int("set_aside")),
                      .policies = TRY(stage.Int("policies"))};
  for (const Json& wait : TRY(stage.ArrayAt("joined_ns"))->array()) {
    if (!wait.is_number()) return Fail(ErrorKind::kInput, "a wait for the context is no number");
    found.joined_ns.push_back(wait.as_double());
  }
  if (!found.joined_ns.empty() && found.joined_ns.size() != calls) {
    return Fail(ErrorKind::kInput, "waits for the context are missing");
  }
  return found;
}

std::string LeftBehind(const StageFindings& stage) {
  if (stage.policies > 0) {
    return fmt::format(
        "run() leaves an access policy for the L2 cache on its caller's stream, where {} of the "
        "judge's flushes found one: it governs the caller's own kernels; reset it (num_bytes = 0) "
        "before run() returns",
        stage.policies);
  }
  if (stage.set_aside == 0) return "";
  return fmt::format(
      "run() leaves {} of the L2 cache set aside for persisting lines: a setting of the whole "
      "device, which outlives the call",
      HumanBytes(static_cast<double>(stage.set_aside)));
}

std::string GoesOnElsewhere(const StageFindings& made, const StageFindings& empty) {
  if (made.joined_ns.empty() || empty.joined_ns.empty()) return "";
  const double usual = Median(empty.joined_ns);
  const double waited = Median(made.joined_ns) - usual;
  if (waited <= kJoinNs + usual / 2) return "";
  return fmt::format(
      "other streams went on for {} when the stream of a call was done: it does not wait for all "
      "of its work",
      HumanTime(waited));
}

void CountConditionals(const MeterReport& report, const std::vector<double>& event_ns,
                       Timeline* timeline) {
  if (report.conditionals == 0) return;
  for (size_t i = 0; i < std::min(event_ns.size(), timeline->calls.size()); ++i) {
    CallSpan& call = timeline->calls[i];
    call.device_ns = std::max(call.device_ns, event_ns[i] - kLeastEventOffsetNs);
    call.unseen_ns = std::max(0.0, call.device_ns - BusyNs(report, call));
  }
}

Owner OwnerOfUnseen(const MeterReport& report, const Provenance& provenance,
                    const std::string& stage_sha256) {
  if (report.conditionals == 0) return OwnerOfChildren(report, provenance);
  const auto explained = [&](const MeteredModule& module) {
    return module.sha256 == stage_sha256 ||
           std::ranges::find(provenance.own_code, module.sha256) != provenance.own_code.end();
  };
  return std::ranges::all_of(report.modules, explained) ? Owner::kOwn : Owner::kUnknown;
}

std::string UnreportedText(const MeterReport& report, Children children,
                           const StageFindings& stage) {
  std::vector<std::string> texts;
  if (children == Children::kUnreported) {
    texts.emplace_back(
        "kernels launch kernels, which CUPTI does not report: a call ends with the judge's mark "
        "behind it, which waits for all streams");
  }
  if (report.conditionals > 0) {
    texts.emplace_back(
        "graphs have conditional nodes, whose kernels CUPTI may not report: a call lasts as long "
        "as its events read");
  }
  if (stage.policies < 0) {
    texts.emplace_back("whether the stream has an access policy for the L2 was not told");
  }
  return Join(texts, "; ");
}

}  // namespace roofmark::gate
