// SPDX-License-Identifier: Apache-2.0
// What a campaign shows: an object per step, the champion's file, and the report at the end. All of
// it is made from the state and can be made again at any time.
#pragma once

#include <filesystem>
#include <string>

#include "agent/campaign.h"
#include "agent/campaign_state.h"

namespace roofmark::agent {

// kernels/<first 16 digits of the hash> with the incumbent's extension.
std::filesystem::path KernelFile(const std::filesystem::path& folder, const CampaignPlan& plan,
                                 const std::string& hash);

// Steps as `optimize --json` prints them. All have "step" and "decision"; where kernels met, also
// "outcome", "time_ns", "ratio", "pairs", "wins", "losses", "p".
Json BaselineStep(const CampaignState& state);
Json DecisionStep(const Trial& trial, const CampaignState& after, const CampaignPlan& plan,
                  Decision decision, const std::string& reason);
Json AuditStep(const CampaignState& state);
Json StoppedStep(const CampaignState& state);

// True when a champion beside the original stands: promoted, and not withdrawn by the audit. Before
// the audit it stands for the time being.
bool ChampionStands(const CampaignState& state);

// Makes promoted.<ext> the champion's source, or removes it where there is no champion.
Result<void> SyncPromoted(const CampaignState& state, const CampaignPlan& plan,
                          const std::filesystem::path& folder);

// Writes promoted.<ext>, report.json and report.md. Requires: the campaign has stopped.
Result<CampaignResult> Conclude(const CampaignState& state, const CampaignPlan& plan,
                                const std::filesystem::path& folder);

}  // namespace roofmark::agent
