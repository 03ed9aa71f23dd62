// SPDX-License-Identifier: Apache-2.0
#include "gate/witnesses.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "gate/ghost.h"
#include "gate/ledger.h"
#include "gate/recompile.h"
#include "gate/scratch_files.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

// Lanes in which a kernel that ran as the language's can only be Triton's.
bool UsesTriton(Lane lane) {
  return lane == Lane::kTriton || lane == Lane::kGluon || lane == Lane::kTorch;
}

void Note(const std::string& text, std::string* level) {
  if (!text.empty()) *level += (level->empty() ? "" : "; ") + text;
}

// Why code that ran as the language's is not its compiler's work; empty where it is.
Result<std::string> RefutedByCompiler(Contestant& contestant, std::vector<std::string> ran) {
  std::erase_if(ran, [&](const std::string& hash) { return contestant.recompiled.contains(hash); });
  const std::map<std::string, fs::path> found = FindCode(ran, contestant.scratch());
  for (const std::string& hash : ran) {
    if (found.contains(hash)) continue;
    return fmt::format(
        "a code object that ran by the language's launcher ({}...) is not what its compiler wrote "
        "into its cache: it was not compiled from the source. Leave TRITON_CACHE_DIR as it is",
        hash.substr(0, 12));
  }
  std::string refuted = TRY(RecompileTriton(found));
  if (refuted.empty()) contestant.recompiled.insert(ran.begin(), ran.end());
  return refuted;
}

}  // namespace

std::map<std::string, fs::path> FindCode(const std::vector<std::string>& hashes,
                                         const fs::path& scratch) {
  std::map<std::string, fs::path> found;
  for (const fs::path& file : ScratchFiles(scratch, ".cubin")) {
    if (found.size() == hashes.size()) break;
    const Result<std::string> cubin = ReadFile(file);
    if (!cubin) continue;
    std::string hash = meter::CubinHash(*cubin);
    if (std::ranges::find(hashes, hash) != hashes.end()) found.emplace(std::move(hash), file);
  }
  return found;
}

Result<void> AskWitnesses(Session& session, Contestant& contestant, const JudgeOptions& options,
                          Timing* timing) {
  const bool asked = contestant.verdict.role == Role::kCandidate &&
                     session.device().info().kind == DeviceKind::kCuda &&
                     timing->unsynchronised.empty();
  if (!asked) return {};
  if (UsesTriton(contestant.candidate().lane)) {
    const Stretch stretch(Part::kCompile, contestant.candidate().name);
    timing->refuted = TRY(RefutedByCompiler(contestant, timing->dsl_code));
    if (!timing->refuted.empty()) return {};
  }
  if (contestant.vouched) return {};
  GhostReplay replay = TRY(ReplayAsGhost(session, contestant, options.call_timeout_s));
  contestant.vouched = replay.refuted.empty();
  timing->refuted = std::move(replay.refuted);
  Note(replay.level, &timing->level);
  return {};
}

}  // namespace roofmark::gate
