// SPDX-License-Identifier: Apache-2.0
#include "agent/campaign_state.h"

#include <array>

#include "model/names.h"

namespace roofmark::agent {
namespace {

constexpr std::array<std::string_view, 4> kDecisions = {"promoted", "kept", "refused", "demoted"};

std::unexpected<Error> OutOfTurn(const std::string& kind) {
  return Fail(ErrorKind::kInput, "the event '" + kind + "' cannot stand here");
}

}  // namespace

Json MeetingToJson(const Meeting& meeting) {
  return Json::MakeObject()
      .Set("stats", PairStatsToJson(meeting.stats))
      .Set("challenger", VerdictToJson(meeting.challenger, Samples::kInclude))
      .Set("incumbent", VerdictToJson(meeting.incumbent, Samples::kInclude));
}

Result<Meeting> MeetingFromJson(const Json& json) {
  return Meeting{.incumbent = TRY(VerdictFromJson(*TRY(json.ObjectAt("incumbent")))),
                 .challenger = TRY(VerdictFromJson(*TRY(json.ObjectAt("challenger")))),
                 .stats = TRY(PairStatsFromJson(*TRY(json.ObjectAt("stats"))))};
}

std::string_view DecisionName(Decision decision) {
  return kDecisions[static_cast<size_t>(decision)];
}

Result<Decision> ParseDecision(std::string_view name) {
  return ParseName<Decision>(name, kDecisions, "decision");
}

Result<void> CampaignState::Apply(const Json& event) {
  const std::string kind = TRY(event.String("event"));
  if (event.Find("spent_s") != nullptr) spent_s += TRY(event.Double("spent_s"));
  if (stopped || settings.is_null() != (kind == "campaign")) return OutOfTurn(kind);
  if (kind == "campaign") {
    settings = *TRY(event.ObjectAt("settings"));
    champions = {TRY(settings.String("incumbent"))};
    champion_logs = {0};
    return {};
  }
  if (kind == "proposal") return ApplyProposal(event);
  if (kind == "decision") return ApplyDecision(event);
  if (kind == "closing") {
    if (!baseline || open || !closing.empty()) return OutOfTurn(kind);
    closing = TRY(event.String("reason"));
    return {};
  }
  if (kind == "stopped") {
    if (closing.empty()) return OutOfTurn(kind);
    stopped = true;
    return {};
  }
  return ApplyMeeting(kind, event);
}

Result<void> CampaignState::ApplyProposal(const Json& event) {
  if (!baseline || open || !closing.empty()) return OutOfTurn("proposal");
  open = Trial{.number = TRY(event.Int("number")),
               .kernel = TRY(event.String("kernel")),
               .parameters = *TRY(event.ObjectAt("parameters")),
               .hypothesis = TRY(event.String("hypothesis"))};
  return {};
}

Result<void> CampaignState::ApplyMeeting(const std::string& kind, const Json& event) {
  const Json& json = *TRY(event.ObjectAt("match"));
  if (kind == "baseline" && !baseline) {
    baseline = TRY(MeetingFromJson(json));
    least_effect = TRY(event.Double("least_effect"));
    baseline_s = TRY(event.Double("spent_s"));
  } else if (kind == "screen" && open && !open->screen) {
    open->screen = TRY(MeetingFromJson(json));
  } else if (kind == "confirmation" && open && open->screen) {
    open->test = TRY(event.Int("test"));
    tests = open->test;
    open->confirmations.push_back(TRY(MeetingFromJson(json)));
  } else if (kind == "audit" && !closing.empty() && !audit) {
    audit = TRY(MeetingFromJson(json));
  } else {
    return OutOfTurn(kind);
  }
  return {};
}

Result<void> CampaignState::ApplyDecision(const Json& event) {
  if (!open || !open->screen) return OutOfTurn("decision");
  const Decision decision = TRY(ParseDecision(TRY(event.String("decision"))));
  PastStep step{.parameters = open->parameters, .promoted = decision == Decision::kPromoted};
  if (const Json* log_ratio = event.Find("log_ratio"); log_ratio != nullptr) {
    step.passed = true;
    step.log_ratio = TRY(event.Double("log_ratio"));
  }
  if (decision == Decision::kPromoted) {
    champions.push_back(open->kernel);
    champion_logs.push_back(step.log_ratio);
  }
  if (decision == Decision::kDemoted) {
    original_failed = champions.size() == 1;
    if (!original_failed) {
      champions.pop_back();
      champion_logs.pop_back();
    }
  }
  history.push_back(std::move(step));
  open.reset();
  return {};
}

}  // namespace roofmark::agent
