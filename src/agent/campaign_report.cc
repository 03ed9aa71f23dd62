// SPDX-License-Identifier: Apache-2.0
#include "agent/campaign_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"

namespace roofmark::agent {
namespace {

Json IntervalToJson(const Interval& interval) {
  return Json::MakeObject()
      .Set("median", interval.median)
      .Set("low", interval.low)
      .Set("high", interval.high);
}

// Adds what a match showed.
void AddMeeting(const Meeting& meeting, Json* step) {
  step->Set("outcome", OutcomeName(meeting.challenger.outcome));
  if (meeting.challenger.time_ns) step->Set("time_ns", IntervalToJson(*meeting.challenger.time_ns));
  if (meeting.incumbent.time_ns) {
    step->Set("incumbent_time_ns", IntervalToJson(*meeting.incumbent.time_ns));
  }
  if (meeting.stats.ratio.median <= 0) return;
  const Json stats = PairStatsToJson(meeting.stats);
  for (const auto& [key, value] : stats.object()) step->Set(key, value);
}

fs::path PromotedFile(const fs::path& folder, const CampaignPlan& plan) {
  return folder / ("promoted" + plan.incumbent.extension().string());
}

std::string Percent(const Interval& ratio) {
  return fmt::format("{:.1f} % less time (95 % interval {:.1f} to {:.1f} %)",
                     100 * (1 - ratio.median), 100 * (1 - ratio.high), 100 * (1 - ratio.low));
}

std::string Headline(const CampaignResult& result) {
  if (!result.incumbent_passed) return "The incumbent was refused: " + result.detail;
  if (result.improved) {
    return fmt::format("The promoted kernel takes {} than the original: {:.2f} times as fast.",
                       Percent(result.ratio), 1 / result.ratio.median);
  }
  if (!result.detail.empty()) return "No kernel was promoted: " + result.detail;
  return "No kernel was promoted: none was shown to be faster.";
}

std::string StepRow(size_t number, const PastStep& step) {
  return fmt::format("| {} | `{}` | {} | {} |\n", number, step.parameters.Dump(),
                     step.passed ? fmt::format("{:.3f}", std::exp(step.log_ratio)) : "refused",
                     step.promoted ? "promoted" : "");
}

std::string Markdown(const CampaignState& state, const CampaignPlan& plan,
                     const CampaignResult& result) {
  std::string text = fmt::format("# Campaign: {} {} on {}\n\n{}\n\n", plan.operator_name,
                                 plan.shape, plan.device, Headline(result));
  text += fmt::format(
      "{} proposals, {} promoted, {} tests, {:.0f} s; ended: {}.\n\n"
      "A revision was promoted only when no gate refused it and it was faster by at least {:.1f} % "
      "in each of {} fresh matches, by a sign test on pairs at a share of the error rate {} over "
      "the campaign. The improvement is measured in one more match, after all choices were made. "
      "`journal.jsonl` holds every sample.\n\n",
      result.proposals, result.promotions, state.tests, state.spent_s, result.stop_reason,
      100 * state.least_effect, plan.confirmations, plan.error_rate);
  text += "| step | revision | time / original's (estimate) | |\n|---|---|---|---|\n";
  for (size_t i = 0; i < state.history.size(); ++i) text += StepRow(i + 1, state.history[i]);
  return text;
}

Json ReportJson(const CampaignState& state, const CampaignResult& result) {
  Json report = Json::MakeObject()
                    .Set("settings", state.settings)
                    .Set("headline", Headline(result))
                    .Set("improved", result.improved)
                    .Set("stop_reason", result.stop_reason)
                    .Set("proposals", result.proposals)
                    .Set("promotions", result.promotions)
                    .Set("tests", state.tests)
                    .Set("least_effect", state.least_effect)
                    .Set("spent_s", state.spent_s)
                    .Set("original", state.champions.front());
  if (state.champions.size() > 1) report.Set("champion", state.champions.back());
  if (state.audit && state.audit->stats.pairs() > 0) {
    report.Set("ratio", IntervalToJson(state.audit->stats.ratio));
  }
  return report;
}

}  // namespace

fs::path KernelFile(const fs::path& folder, const CampaignPlan& plan, const std::string& hash) {
  return folder / "kernels" / (hash.substr(0, 16) + plan.incumbent.extension().string());
}

Json BaselineStep(const CampaignState& state) {
  Json step = Json::MakeObject().Set("step", 0).Set("decision", "baseline");
  AddMeeting(*state.baseline, &step);
  const Verdict& verdict = state.baseline->challenger;
  return step.Set("least_effect", state.least_effect).Set("reason", ValidUtf8(verdict.reason));
}

Json DecisionStep(const Trial& trial, const CampaignState& after, const CampaignPlan& plan,
                  Decision decision, const std::string& reason) {
  Json step = Json::MakeObject()
                  .Set("step", trial.number)
                  .Set("decision", DecisionName(decision))
                  .Set("reason", ValidUtf8(reason))
                  .Set("parameters", trial.parameters)
                  .Set("hypothesis", trial.hypothesis)
                  .Set("kernel", trial.kernel);
  AddMeeting(trial.confirmations.empty() ? *trial.screen : trial.confirmations.back(), &step);
  if (trial.test > 0) {
    step.Set("test", trial.test).Set("share", ErrorShare(plan.error_rate, trial.test));
  }
  return step.Set("champion", after.champions.back()).Set("spent_s", after.spent_s);
}

Json AuditStep(const CampaignState& state) {
  Json step = Json::MakeObject()
                  .Set("step", static_cast<int64_t>(state.history.size()) + 1)
                  .Set("decision", ChampionStands(state) ? "upheld" : "withdrawn")
                  .Set("kernel", state.champions.back());
  AddMeeting(*state.audit, &step);
  return step.Set("spent_s", state.spent_s);
}

Json StoppedStep(const CampaignState& state) {
  return Json::MakeObject()
      .Set("step", static_cast<int64_t>(state.history.size()) + (state.audit ? 2 : 1))
      .Set("decision", "stopped")
      .Set("reason", state.closing)
      .Set("champion", ChampionStands(state) ? state.champions.back() : state.champions.front())
      .Set("spent_s", state.spent_s);
}

bool ChampionStands(const CampaignState& state) {
  if (state.champions.size() < 2) return false;
  if (!state.audit) return true;
  const Meeting& audit = *state.audit;
  // Without pairs (one of the two was refused) the ratio is 0 and bears nothing out.
  return audit.stats.ratio.median > 0 && audit.stats.ratio.high < 1;
}

Result<void> SyncPromoted(const CampaignState& state, const CampaignPlan& plan,
                          const fs::path& folder) {
  const fs::path file = PromotedFile(folder, plan);
  if (ChampionStands(state)) {
    return WriteFile(file, TRY(ReadFile(KernelFile(folder, plan, state.champions.back()))));
  }
  std::error_code error;
  fs::remove(file, error);
  if (error) return Fail(ErrorKind::kIo, file.string() + ": cannot remove: " + error.message());
  return {};
}

Result<CampaignResult> Conclude(const CampaignState& state, const CampaignPlan& plan,
                                const fs::path& folder) {
  CHECK(state.stopped);
  CampaignResult result{.incumbent_passed = state.closing != "incumbent_refused" &&
                                            state.closing != "incumbent_failed",
                        .improved = ChampionStands(state),
                        .stop_reason = state.closing,
                        .proposals = static_cast<int64_t>(state.history.size()),
                        .promotions = std::ranges::count(state.history, true, &PastStep::promoted)};
  const Verdict& measured =
      state.baseline->challenger.passed() ? state.baseline->incumbent : state.baseline->challenger;
  if (state.closing == "incumbent_refused") {
    result.detail = fmt::format("{}: {}", OutcomeName(measured.outcome), measured.reason);
  } else if (state.closing == "incumbent_failed") {
    result.detail = "it passed at first and failed in a later match; journal.jsonl says how";
  } else if (state.audit && !result.improved) {
    result.detail = "the last match against the original did not bear the champion out";
  }
  if (state.audit) result.ratio = state.audit->stats.ratio;
  result.audit = state.audit;
  result.original_kernel = KernelFile(folder, plan, state.champions.front());
  result.champion_kernel = KernelFile(folder, plan, state.champions.back());
  TRY(SyncPromoted(state, plan, folder));
  if (result.improved) result.promoted = PromotedFile(folder, plan);
  TRY(WriteFile(folder / "report.json", ReportJson(state, result).Dump(2) + "\n"));
  TRY(WriteFile(folder / "report.md", ValidUtf8(Markdown(state, plan, result))));
  return result;
}

}  // namespace roofmark::agent
