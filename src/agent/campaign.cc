// SPDX-License-Identifier: Apache-2.0
#include "agent/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "agent/campaign_report.h"
#include "base/check.h"
#include "base/files.h"
#include "base/hash.h"

namespace roofmark::agent {
namespace {

// `unstable` says that no absolute time can be published on this machine now. Pairs need none: the
// noise hits both kernels alike, and what it leaves undecided shows in the test.
bool IsUsable(const Verdict& verdict) {
  return verdict.passed() || verdict.outcome == Outcome::kUnstable;
}

std::string ReasonOf(const Verdict& verdict) {
  std::string reason(OutcomeName(verdict.outcome));
  if (!verdict.reason.empty()) reason += ": " + verdict.reason;
  return reason;
}

Meeting MeetingOf(Match match, double least_effect) {
  PairStats stats;
  if (IsUsable(match.incumbent) && IsUsable(match.challenger)) {
    stats = ComparePairs(match.incumbent.samples_ns, match.challenger.samples_ns, least_effect);
  }
  return {.incumbent = std::move(match.incumbent),
          .challenger = std::move(match.challenger),
          .stats = stats};
}

Json SettingsOf(const CampaignPlan& plan, const std::string& incumbent_hash,
                const std::string& provider) {
  return Json::MakeObject()
      .Set("operator", plan.operator_name)
      .Set("shape", plan.shape)
      .Set("device", plan.device)
      .Set("incumbent", incumbent_hash)
      .Set("provider", provider)
      .Set("error_rate", plan.error_rate)
      .Set("least_effect", plan.least_effect)
      .Set("confirmations", plan.confirmations);
}

std::string ChangeText(double ratio) {
  return fmt::format("{:.1f} % {} time", 100 * std::abs(1 - ratio), ratio < 1 ? "less" : "more");
}

// What a decision says, before it is written.
struct Ruling {
  Decision decision = Decision::kKept;
  std::string reason;
};

Ruling Rule(const CampaignState& state, const CampaignPlan& plan) {
  const Trial& trial = *state.open;
  const Meeting& last = trial.confirmations.empty() ? *trial.screen : trial.confirmations.back();
  if (!IsUsable(last.incumbent)) {
    return {Decision::kDemoted, "the champion failed: " + ReasonOf(last.incumbent)};
  }
  if (!IsUsable(last.challenger)) return {Decision::kRefused, ReasonOf(last.challenger)};
  const std::string change = ChangeText(last.stats.ratio.median);
  if (trial.confirmations.empty()) {
    return {Decision::kKept, fmt::format("{} at a glance; {:.1f} % less are asked for", change,
                                         100 * state.least_effect)};
  }
  const double share = ErrorShare(plan.error_rate, trial.test);
  if (last.stats.p > share) {
    return {Decision::kKept, fmt::format("{}, but p = {:.2g} is over {:.2g}, the share of test {}",
                                         change, last.stats.p, share, trial.test)};
  }
  return {Decision::kPromoted,
          fmt::format("{}; p = {:.2g} is within {:.2g}, the share of test {}, in each of {} "
                      "matches",
                      change, last.stats.p, share, trial.test, trial.confirmations.size())};
}

// Whether another match may change the ruling.
bool WantsConfirmation(const CampaignState& state, const CampaignPlan& plan) {
  const Trial& trial = *state.open;
  const auto promising = [&](const Meeting& meeting) {
    return meeting.stats.pairs() > 0 && meeting.stats.ratio.median < 1 - state.least_effect;
  };
  if (trial.confirmations.empty()) {
    return IsUsable(trial.screen->incumbent) && IsUsable(trial.screen->challenger) &&
           promising(*trial.screen);
  }
  const Ruling ruling = Rule(state, plan);
  return ruling.decision == Decision::kPromoted &&
         static_cast<int>(trial.confirmations.size()) < plan.confirmations;
}

class Campaign {
 public:
  Campaign(const CampaignPlan& plan, fs::path folder, const CampaignTools& tools, Journal journal)
      : plan_(plan), folder_(std::move(folder)), tools_(tools), journal_(std::move(journal)) {}

  Result<CampaignResult> Run() {
    TRY(Begin());
    while (!state_.stopped) TRY(Advance());
    tools_.on_step(StoppedStep(state_));
    return Conclude(state_, plan_, folder_);
  }

 private:
  Result<void> Begin();
  // Makes one move: one event in the journal.
  Result<void> Advance();
  Result<void> MeasureBaseline();
  Result<void> Propose();
  Result<void> Screen();
  Result<void> Confirm();
  Result<void> Decide();
  Result<void> Audit();
  std::string WhyClose() const;

  Result<Meeting> Meet(const std::string& incumbent, const std::string& challenger, Depth depth,
                       double least_effect) {
    return MeetingOf(TRY(tools_.referee.Play(File(incumbent), File(challenger), depth)),
                     least_effect);
  }
  Result<void> Record(const Json& event) {
    TRY(journal_.Append(event));
    TRY(state_.Apply(journal_.events().back()));
    return {};
  }
  Result<std::string> Keep(const std::string& source) {
    const std::string hash = Sha256Hex(source);
    if (!fs::exists(File(hash))) TRY(WriteFile(File(hash), source));
    return hash;
  }
  fs::path File(const std::string& hash) const { return KernelFile(folder_, plan_, hash); }
  double Now() const { return tools_.seconds(); }

  const CampaignPlan& plan_;
  fs::path folder_;
  const CampaignTools& tools_;
  Journal journal_;
  CampaignState state_;
  std::optional<Proposal> next_;
};

Result<void> Campaign::Begin() {
  const std::string original = TRY(Keep(TRY(ReadFile(plan_.incumbent))));
  const Json settings = SettingsOf(plan_, original, tools_.provider.Identity());
  for (const Json& event : journal_.events()) {
    TRY_IN(state_.Apply(event), (folder_ / "journal.jsonl").string());
  }
  if (state_.settings.is_null()) {
    return Record(Json::MakeObject().Set("event", "campaign").Set("settings", settings));
  }
  if (state_.settings.Dump() == settings.Dump()) return {};
  std::string differing;
  for (const auto& [key, value] : settings.object()) {
    const Json* recorded = state_.settings.Find(key);
    if (recorded == nullptr || recorded->Dump() != value.Dump())
      differing += (differing.empty() ? "" : ", ") + key;
  }
  return Fail(ErrorKind::kInput,
              fmt::format("{}: holds a campaign that began with another {}; choose another folder "
                          "with -o, or remove this one",
                          folder_.string(), differing));
}

Result<void> Campaign::Advance() {
  if (!state_.baseline) return MeasureBaseline();
  if (state_.open) {
    if (!state_.open->screen) return Screen();
    return WantsConfirmation(state_, plan_) ? Confirm() : Decide();
  }
  if (state_.closing.empty()) {
    if (const std::string reason = WhyClose(); !reason.empty()) {
      return Record(Json::MakeObject().Set("event", "closing").Set("reason", reason));
    }
    return Propose();
  }
  if (state_.champions.size() > 1 && !state_.audit) return Audit();
  return Record(Json::MakeObject().Set("event", "stopped"));
}

Result<void> Campaign::MeasureBaseline() {
  tools_.on_move("measuring the incumbent against itself");
  const double begin = Now();
  const std::string& original = state_.champions.front();
  const Meeting meeting = TRY(Meet(original, original, Depth::kConfirm, 0));
  const double floor = meeting.stats.pairs() > 0 ? NoiseFloor(meeting.stats) : 0;
  TRY(Record(Json::MakeObject()
                 .Set("event", "baseline")
                 .Set("least_effect", std::min(0.5, std::max(plan_.least_effect, floor)))
                 .Set("match", MeetingToJson(meeting))
                 .Set("spent_s", Now() - begin)));
  tools_.on_step(BaselineStep(state_));
  return {};
}

// Empty while there is time and hope left. A step is expected to take as long as the average one
// did, and the audit as long as the baseline; one proposal is judged in any case.
std::string Campaign::WhyClose() const {
  if (!IsUsable(state_.baseline->incumbent) || !IsUsable(state_.baseline->challenger)) {
    return "incumbent_refused";
  }
  if (state_.original_failed) return "incumbent_failed";
  const auto steps = static_cast<double>(state_.history.size());
  if (static_cast<int64_t>(state_.history.size()) >= plan_.max_proposals) return "proposals";
  if (steps == 0) return "";
  const double step_s = (state_.spent_s - state_.baseline_s) / steps;
  return state_.spent_s + step_s + state_.baseline_s > plan_.budget_s ? "budget" : "";
}

Result<void> Campaign::Propose() {
  const double begin = Now();
  const std::string original = TRY(ReadFile(File(state_.champions.front())));
  const std::string champion = TRY(ReadFile(File(state_.champions.back())));
  const std::optional<Proposal> proposal =
      TRY(tools_.provider.Propose({.operator_name = plan_.operator_name,
                                   .original = original,
                                   .champion = champion,
                                   .history = state_.history}));
  if (!proposal) {
    return Record(Json::MakeObject().Set("event", "closing").Set("reason", "exhausted"));
  }
  return Record(Json::MakeObject()
                    .Set("event", "proposal")
                    .Set("number", static_cast<int64_t>(state_.history.size()) + 1)
                    .Set("parameters", proposal->parameters)
                    .Set("hypothesis", proposal->hypothesis)
                    .Set("kernel", TRY(Keep(proposal->source)))
                    .Set("spent_s", Now() - begin));
}

Result<void> Campaign::Screen() {
  tools_.on_move(
      fmt::format("step {}: judging {}", state_.open->number, state_.open->parameters.Dump()));
  const double begin = Now();
  const Meeting meeting =
      TRY(Meet(state_.champions.back(), state_.open->kernel, Depth::kScreen, state_.least_effect));
  return Record(Json::MakeObject()
                    .Set("event", "screen")
                    .Set("number", state_.open->number)
                    .Set("match", MeetingToJson(meeting))
                    .Set("spent_s", Now() - begin));
}

Result<void> Campaign::Confirm() {
  const Trial& trial = *state_.open;
  const int64_t test = trial.test > 0 ? trial.test : state_.tests + 1;
  tools_.on_move(fmt::format("step {}: confirming, match {} of {}", trial.number,
                             trial.confirmations.size() + 1, plan_.confirmations));
  const double begin = Now();
  const Meeting meeting =
      TRY(Meet(state_.champions.back(), trial.kernel, Depth::kConfirm, state_.least_effect));
  return Record(Json::MakeObject()
                    .Set("event", "confirmation")
                    .Set("number", trial.number)
                    .Set("test", test)
                    .Set("share", ErrorShare(plan_.error_rate, test))
                    .Set("match", MeetingToJson(meeting))
                    .Set("spent_s", Now() - begin));
}

Result<void> Campaign::Decide() {
  const Trial trial = *state_.open;
  const Ruling ruling = Rule(state_, plan_);
  Json event = Json::MakeObject()
                   .Set("event", "decision")
                   .Set("number", trial.number)
                   .Set("decision", DecisionName(ruling.decision))
                   .Set("reason", ruling.reason);
  const Meeting& last = trial.confirmations.empty() ? *trial.screen : trial.confirmations.back();
  if (ruling.decision != Decision::kRefused && last.stats.pairs() > 0) {
    event.Set("log_ratio", state_.champion_logs.back() + std::log(last.stats.ratio.median));
  }
  TRY(Record(event));
  TRY(SyncPromoted(state_, plan_, folder_));
  tools_.on_step(DecisionStep(trial, state_, plan_, ruling.decision, ruling.reason));
  return {};
}

Result<void> Campaign::Audit() {
  tools_.on_move("auditing the champion against the original");
  const double begin = Now();
  const Meeting meeting =
      TRY(Meet(state_.champions.front(), state_.champions.back(), Depth::kConfirm, 0));
  TRY(Record(Json::MakeObject()
                 .Set("event", "audit")
                 .Set("match", MeetingToJson(meeting))
                 .Set("spent_s", Now() - begin)));
  TRY(SyncPromoted(state_, plan_, folder_));
  tools_.on_step(AuditStep(state_));
  return {};
}

}  // namespace

Result<CampaignResult> RunCampaign(const CampaignPlan& plan, const fs::path& folder,
                                   const CampaignTools& tools) {
  CHECK(plan.confirmations >= 1);
  Journal journal = TRY(Journal::Open(folder / "journal.jsonl"));
  return Campaign(plan, folder, tools, std::move(journal)).Run();
}

}  // namespace roofmark::agent
