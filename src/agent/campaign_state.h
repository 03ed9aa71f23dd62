// SPDX-License-Identifier: Apache-2.0
// Where a campaign stands: what folding the events of its journal gives, and nothing else. The
// controller (campaign.cc) looks at it to know its next move, so a campaign that is continued after
// a kill moves exactly as if nothing had happened.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/pair_statistics.h"
#include "agent/provider.h"
#include "agent/referee.h"
#include "base/json.h"

namespace roofmark::agent {

// A match with what it says about the pair.
struct Meeting {
  Verdict incumbent;
  Verdict challenger;
  PairStats stats;
};
Json MeetingToJson(const Meeting& meeting);
Result<Meeting> MeetingFromJson(const Json& json);

enum class Decision {
  kPromoted,  // faster beyond doubt; the new champion
  kKept,      // right, but not shown to be faster; the champion stays
  kRefused,   // a gate refused it
  kDemoted,   // the champion itself failed in this match; the one before it is back
};
std::string_view DecisionName(Decision decision);
Result<Decision> ParseDecision(std::string_view name);

// A proposal on its way to a decision.
struct Trial {
  int64_t number = 0;  // from 1
  std::string kernel;  // SHA-256 of its source, which lies in the campaign's folder
  Json parameters;
  std::string hypothesis;
  std::optional<Meeting> screen;
  int64_t test = 0;  // which test of the campaign its confirmations are; 0 before them
  std::vector<Meeting> confirmations;
};

struct CampaignState {
  Json settings;                       // null before the first event
  std::optional<Meeting> baseline;     // the original against itself
  double least_effect = 0;             // set with the baseline
  double baseline_s = 0;               // how long a whole match takes here
  std::vector<std::string> champions;  // SHA-256; the original first, the present one last
  std::vector<double> champion_logs;   // ln(time / the original's) of each
  std::vector<PastStep> history;
  std::optional<Trial> open;
  int64_t tests = 0;  // shares of the error rate that are spent
  double spent_s = 0;
  bool original_failed = false;  // it was refused where it had passed before
  std::string closing;           // why the loop ended; empty while it runs
  std::optional<Meeting> audit;
  bool stopped = false;

  // Folds in the next event. Errors: kInput for an event that cannot follow.
  Result<void> Apply(const Json& event);

 private:
  Result<void> ApplyProposal(const Json& event);
  Result<void> ApplyMeeting(const std::string& kind, const Json& event);
  Result<void> ApplyDecision(const Json& event);
};

}  // namespace roofmark::agent
