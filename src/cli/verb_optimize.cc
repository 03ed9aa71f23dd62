// SPDX-License-Identifier: Apache-2.0
// roofmark optimize: a campaign that improves one kernel on one workload of the CPU. A folder that
// holds an unfinished campaign is continued.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "agent/campaign.h"
#include "agent/live_referee.h"
#include "agent/template_search.h"
#include "base/files.h"
#include "base/text.h"
#include "candidate/build.h"
#include "cli/args.h"
#include "cli/progress.h"
#include "pipeline/evaluate.h"
#include "pipeline/record.h"
#include "suite/suite.h"

namespace roofmark::cli {
namespace {

// Any fixed number would do; being fixed, the same campaign takes the same way again.
constexpr uint64_t kSeed = 1;

// The workload: --shape, else the small one with the most traffic, since that is where time goes.
Result<Workload> WorkloadOf(const suite::Suite& suite, const OptimizeArgs& args) {
  const Workload* heaviest = nullptr;
  for (const Workload& workload : suite.workloads) {
    if (args.shape.empty() ? workload.shape.tier != Tier::kSmall : workload.shape.id != args.shape)
      continue;
    if (heaviest == nullptr || workload.traffic.Total() > heaviest->traffic.Total()) {
      heaviest = &workload;
    }
  }
  if (heaviest != nullptr) return *heaviest;
  return Fail(ErrorKind::kNotFound,
              args.shape.empty()
                  ? fmt::format("{} has no small shape; name one with --shape", args.op)
                  : fmt::format("{} has no shape '{}'; `roofmark suite show {}` lists them",
                                args.op, args.shape, args.op));
}

std::string RatioText(const Json& step) {
  const Json* ratio = step.Find("ratio");
  if (ratio == nullptr) return "";
  const auto at = [&](const char* key) { return ratio->Find(key)->as_double(); };
  return fmt::format("  time x {:.3f} [{:.3f}, {:.3f}]", at("median"), at("low"), at("high"));
}

// "step 3   promoted  isa avx2, threads 1   time x 0.612 [0.608, 0.617]" and the reason below.
std::string StepText(const Json& step) {
  std::string what;
  if (const Json* parameters = step.Find("parameters")) {
    for (const auto& [key, value] : parameters->object()) {
      what += fmt::format("{}{} {}", what.empty() ? "" : ", ", key,
                          value.is_string() ? value.as_string() : value.Dump());
    }
  }
  const Json* reason = step.Find("reason");
  std::string text = fmt::format("step {:<3} {:9} {}{}", step.Find("step")->as_int(),
                                 step.Find("decision")->as_string(), what, RatioText(step));
  if (reason != nullptr && !reason->as_string().empty()) {
    const std::string& whole = reason->as_string();
    text += "\n         " + whole.substr(0, whole.find('\n'));
  }
  return text;
}

void PrintStep(const Json& step, Format format) {
  fmt::print("{}\n", format == Format::kJson ? step.Dump() : StepText(step));
  std::fflush(stdout);
}

void PrintEnd(const agent::CampaignResult& result, const fs::path& folder) {
  if (result.improved) {
    fmt::print("{}: {:.2f} times as fast as the original (95 % interval {:.2f} to {:.2f})\n",
               result.promoted.string(), 1 / result.ratio.median, 1 / result.ratio.high,
               1 / result.ratio.low);
  } else if (!result.detail.empty()) {
    fmt::print("nothing promoted; {}\n", result.detail.substr(0, result.detail.find('\n')));
  } else {
    fmt::print("nothing promoted: no revision was shown to be faster\n");
  }
  fmt::print("{} proposals, {} promotions; ended: {}; {}\n", result.proposals, result.promotions,
             result.stop_reason, (folder / "report.md").string());
}

// The original and the champion as the audit saw them, so that `score` and `report` know them too.
Result<void> KeepVerdicts(const agent::CampaignResult& result, const OptimizeArgs& args,
                          const pipeline::Machine& machine, const std::string& suite_name) {
  const std::string stem = args.incumbent.stem().string();
  agent::Meeting audit = *result.audit;
  std::vector<pipeline::Entry> entries = {
      {args.op, TRY(candidate::ReadCandidate(result.original_kernel))},
      {args.op, TRY(candidate::ReadCandidate(result.champion_kernel))}};
  audit.incumbent.candidate = entries[0].candidate.name = stem;
  audit.challenger.candidate = entries[1].candidate.name = stem + "-optimized";
  const std::string command =
      fmt::format("optimize {} --operator {} --shape {}", args.incumbent.filename().string(),
                  args.op, audit.challenger.shape);
  pipeline::Recorder recorder =
      TRY(pipeline::Recorder::Open(args.store, machine, entries, command, suite_name));
  TRY(recorder.Add(audit.incumbent));
  return recorder.Add(audit.challenger);
}

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

Result<int> Optimize(const OptimizeArgs& args) {
  const Candidate incumbent = TRY(candidate::ReadCandidate(args.incumbent));
  if (incumbent.sources.size() != 1 || fs::is_directory(args.incumbent)) {
    return Fail(ErrorKind::kInput,
                args.incumbent.string() + ": a campaign starts from one source file");
  }
  if (incumbent.lane != Lane::kCpp) {
    return Fail(ErrorKind::kInput, fmt::format("{}: campaigns run in the lane cpp so far, not {}",
                                               args.incumbent.string(), LaneName(incumbent.lane)));
  }
  const suite::Suite suite = TRY(suite::LoadSuite({.operators = {args.op}}));
  const Workload workload = TRY(WorkloadOf(suite, args));
  agent::TemplateSearch provider(
      TRY(agent::FindFamily(TRY(DataDir()) / "examples/families", args.op, incumbent.lane)), kSeed);
  const pipeline::Machine machine = TRY(pipeline::OpenMachine(DeviceKind::kCpu, ""));
  const std::unique_ptr<agent::LiveReferee> referee =
      TRY(agent::LiveReferee::Start(workload, machine));
  const fs::path folder = args.out.empty()
                              ? fs::path(fmt::format("campaign-{}-{}", args.op, workload.shape.id))
                              : args.out;

  const agent::CampaignPlan plan{.operator_name = args.op,
                                 .shape = workload.shape.id,
                                 .device = machine.device->info().name,
                                 .incumbent = args.incumbent,
                                 .error_rate = args.error_rate,
                                 .budget_s = args.budget_s};
  bool audited = false;
  const double begin = Seconds();
  Progress progress("optimising");
  const agent::CampaignTools tools{
      .provider = provider,
      .referee = *referee,
      .seconds = Seconds,
      .on_step =
          [&](const Json& step) {
            audited = audited || step.Find("decision")->as_string() == "upheld";
            PrintStep(step, args.format);
          },
      .on_move =
          [&](const std::string& move) {
            progress.Show(static_cast<size_t>(Seconds() - begin),
                          static_cast<size_t>(std::ceil(args.budget_s)), move);
          }};
  const agent::CampaignResult result = TRY(agent::RunCampaign(plan, folder, tools));
  if (audited) TRY(KeepVerdicts(result, args, machine, suite.name));
  if (args.format == Format::kText) PrintEnd(result, folder);
  return result.incumbent_passed ? 0 : 1;
}

}  // namespace roofmark::cli
