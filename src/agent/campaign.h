// SPDX-License-Identifier: Apache-2.0
// The controller of a campaign: it measures the incumbent, asks a provider for one revision at a
// time, has it judged by the ordinary gates, and promotes it only when fresh matches show beyond a
// stated error that it is faster by at least the least effect. It alone decides, and it decides by
// rules that are fixed before the first measurement:
//
//   baseline      the incumbent against itself. It must pass all gates; how far the two halves are
//                 apart is the machine's noise, and the least effect is never smaller than that.
//   screen        a short match. It may refuse or rank a revision, never promote it.
//   confirmation  whole matches with new processes, inputs and order, decided by the sign test at
//                 this test's share of the error rate (pair_statistics.h). Each of them must pass:
//                 luck that holds for one process, such as where its pages fell, does not repeat.
//                 (`unstable` is no refusal in a match: pairs need no quiet machine.)
//   audit         the champion against the original once more. It gives the improvement that is
//                 reported, free of the selection before, and withdraws a champion that fails it.
//
// Folder of a campaign: journal.jsonl (every step, the only state), kernels/<hash>.<ext> (every
// source), and once there is a champion promoted.<ext>; report.json and report.md at the end.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "agent/campaign_state.h"
#include "agent/journal.h"
#include "agent/provider.h"
#include "agent/referee.h"
#include "base/result.h"

namespace roofmark::agent {

struct CampaignPlan {
  std::string operator_name;
  std::string shape;
  std::string device;
  std::filesystem::path incumbent;  // a source file
  double error_rate = 0.05;         // probability of even one wrong promotion, at most
  double least_effect = 0.01;       // fraction of the time; raised to the noise floor
  int confirmations = 2;
  double budget_s =
      60;  // wall time over all sessions, audit included; one proposal is always judged
  int64_t max_proposals = 1000;
};

struct CampaignTools {
  Provider& provider;
  Referee& referee;
  std::function<double()> seconds;           // a monotonic clock
  std::function<void(const Json&)> on_step;  // one object a step, as `optimize --json` prints it
  std::function<void(const std::string&)> on_move;  // what is being done, for a person
};

struct CampaignResult {
  bool incumbent_passed = false;
  bool improved = false;    // a champion stood the audit
  std::string stop_reason;  // "budget", "exhausted", "proposals", "incumbent_refused",
                            // "incumbent_failed"
  std::string detail;       // why the incumbent was refused, or why the audit failed
  Interval ratio;           // champion's time / the original's, from the audit
  int64_t proposals = 0;
  int64_t promotions = 0;
  std::filesystem::path promoted;         // the champion's file; empty without
  std::optional<Meeting> audit;           // the original and the champion; none without a champion
  std::filesystem::path original_kernel;  // their files in kernels/, as they were judged
  std::filesystem::path champion_kernel;
};

// Runs the campaign to its end, or continues the one that `folder` holds.
// Errors: kInput where the folder holds a campaign with other settings or a changed journal; the
// referee's and the provider's. After an error the campaign can be continued.
Result<CampaignResult> RunCampaign(const CampaignPlan& plan, const std::filesystem::path& folder,
                                   const CampaignTools& tools);

}  // namespace roofmark::agent
