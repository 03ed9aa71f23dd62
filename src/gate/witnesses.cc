// SPDX-License-Identifier: Apache-2.0
#include "gate/witnesses.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gate/ghost.h"
#include "gate/kernel_source.h"
#include "gate/recompile.h"

namespace roofmark::gate {
namespace {

// Lanes in which a kernel that ran as the language's can only be Triton's.
bool UsesTriton(Lane lane) {
  return CompilesByTriton(lane) || lane == Lane::kTorch;
}

void Note(const std::string& text, std::string* level) {
  if (!text.empty()) *level += (level->empty() ? "" : "; ") + text;
}

}  // namespace

std::string UnexplainedCode(const std::vector<std::string>& ran,
                            const std::vector<CachedCode>& cached) {
  std::set<std::string> left(ran.begin(), ran.end());
  for (const CachedCode& code : cached) left.erase(code.hash);
  if (left.empty()) return "";
  constexpr size_t kShown = 12;
  return fmt::format(
      "{} of {} code objects that ran by the language's launcher are not what its compiler wrote "
      "into its cache (the first is {}...): they were not compiled from the source. Leave "
      "TRITON_CACHE_DIR as it is",
      left.size(), ran.size(), left.begin()->substr(0, kShown));
}

std::string Unwitnessed(Lane lane, const Timing& timing) {
  const bool own = timing.owner_ns[static_cast<size_t>(Owner::kOwn)] > 0;
  if (!CompilesByTriton(lane) || !own || !timing.dsl_code.empty()) return "";
  return fmt::format(
      "no kernel came through the compiler of lane {}: what computes is an extension beside it, "
      "for which neither a ghost replay nor compiling again can speak. Judge it in lane torch "
      "(lane = "
      "\"torch\" in candidate.toml), or its CUDA code in lane cuda",
      LaneName(lane));
}

Result<void> AskWitnesses(Session& session, Contestant& contestant, const JudgeOptions& options,
                          Timing* timing) {
  const bool asked = contestant.verdict.role == Role::kCandidate &&
                     session.device().info().kind == DeviceKind::kCuda &&
                     timing->unsynchronised.empty();
  if (!asked) return {};
  if (UsesTriton(contestant.candidate().lane)) {
    const std::vector<CachedCode> cached = FindCachedCode(timing->dsl_code, contestant.scratch());
    timing->refuted = UnexplainedCode(timing->dsl_code, cached);
    if (timing->refuted.empty()) {
      timing->refuted = ForeignSource(cached, contestant.scratch(), contestant.own_source());
    }
    if (timing->refuted.empty()) {
      timing->refuted = Unwitnessed(contestant.candidate().lane, *timing);
    }
    if (!timing->refuted.empty()) return {};
    contestant.code = timing->dsl_code;
    if (!contestant.code.empty()) {
      contestant.recompiler()->Need(contestant.code, contestant.scratch());
    }
  }
  if (contestant.vouched) return {};
  GhostReplay replay = TRY(ReplayAsGhost(session, contestant, options.call_timeout_s));
  contestant.vouched = replay.refuted.empty();
  timing->refuted = std::move(replay.refuted);
  Note(replay.level, &timing->level);
  return {};
}

}  // namespace roofmark::gate
