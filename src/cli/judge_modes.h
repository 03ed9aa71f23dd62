// SPDX-License-Identifier: Apache-2.0
// The two ways of judging many candidates: jobs as lines (--listen), and folders (--all), which are
// jobs for listening judges, one on each device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/args.h"
#include "model/verdict.h"
#include "suite/suite.h"

namespace roofmark::cli {

Result<int> JudgeListen(const JudgeArgs& args);
Result<int> JudgeAll(const JudgeArgs& args);

// A candidate's operator: --operator where one is given, else the folder that it lies in.
Result<std::string> OperatorOf(const fs::path& path, const JudgeArgs& args,
                               const suite::Suite& suite);

// The one mode that --mode asks for; nothing where each candidate's own counts.
Result<std::optional<Mode>> ModeOf(const JudgeArgs& args);

// Says on stderr whom this judge waits for (pipeline::TakeTurn).
void TellWhoMeasures(const std::string& holder);

// A verdict as one line for people, with its reason below.
std::string VerdictLine(const Verdict& verdict);
// What a count of verdicts says of those that are of files which call themselves a baseline, and so
// were not asked for adoption; empty where there are none.
std::string OfBaselines(size_t verdicts, size_t refused);

// The candidates below a folder: folders with candidate.toml, and single sources outside of them.
// Sorted; hidden files and folders are not looked into.
std::vector<fs::path> CandidatesBelow(const fs::path& folder);

// The words of this process's command line that its listening judges get, too.
std::vector<std::string> WordsForChildren(const std::vector<std::string>& words);

}  // namespace roofmark::cli
