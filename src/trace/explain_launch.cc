// SPDX-License-Identifier: Apache-2.0
#include "trace/explain_launch.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "trace/op_texts.h"

namespace roofmark::trace {
namespace {

bool IsCaptured(const DecidedLaunch& launch) {
  return launch.shape.origin != nullptr && launch.shape.origin->capture != kNone32;
}

std::string HowLaunched(const DecidedLaunch& launch) {
  const Link& link = *launch.link;
  const Profile& profile = *launch.profile;
  const std::string by =
      link.call == kNone32 ? "by a call that the profile does not hold"
                           : fmt::format("by {}", profile.text.Text(profile.calls[link.call].name));
  if (IsCaptured(launch)) {
    const int64_t tokens = launch.shape.origin->tokens;
    return by + (tokens < 0 ? ", node of a graph that a capture profile has"
                            : fmt::format(", node of a graph captured for {} tokens", tokens));
  }
  switch (link.kind) {
    case LinkKind::kGraph:
      return by + ", node of a graph without its capture";
    case LinkKind::kGraphNode:
      return by + ", node of a graph, by the creation of the node";
    case LinkKind::kExternalId:
      return by + ", operator by its External id";
    case LinkKind::kContainment:
      return by + ", operator around the call";
    case LinkKind::kNone:
      break;
  }
  return by + ", no operator around it";
}

std::string WhichPhase(const DecidedLaunch& launch) {
  const char* source = "nothing says it";
  if (launch.label != nullptr && launch.label->phase == launch.phase) {
    source = "the step's label";
  } else if (launch.label == nullptr && launch.file_phase != Phase::kUnknown) {
    source = "the file's name";
  } else if (launch.phase != Phase::kUnknown) {
    source = "the kernel's rule";
  }
  const Claim& claim = *launch.claim;
  if (claim.split) {
    return fmt::format("mixed step: {} of {} parts {}, the rest {}",
                       claim.split->whole - claim.split->part, claim.split->whole,
                       PhaseName(claim.phase), PhaseName(launch.other->phase));
  }
  return fmt::format("{}: {}", PhaseName(claim.phase), source);
}

std::string WhichShape(const DecidedLaunch& launch) {
  const Claim& claim = *launch.claim;
  if (!claim.axes.empty()) return AxesToJson(claim.axes).Dump();
  const ShapeEvidence& evidence = launch.shape;
  if (evidence.origin != nullptr && evidence.origin->disputed) {
    return "unknown: several captured graphs fit and differ in size, and no step label says "
           "which";
  }
  const OpRule* rule = launch.decision->shaped_by;
  if (rule == nullptr) return "unknown: no operator gives it";
  const Profile& place = *launch.place->profile;
  const CpuOp& op = place.ops[launch.decision->call];
  if (!HasDims(op.arguments, place.text)) {
    if (evidence.traced != nullptr && evidence.traced->disputed) {
      return fmt::format("unknown: {} places of the execution trace {} fit and differ in size",
                         evidence.traced->places, ValidUtf8(evidence.trace));
    }
    return "unknown: the operator's sizes were not recorded";
  }
  if (rule->axes.empty()) return "unknown: its rule has no axes";
  return fmt::format("unknown: the recipe of {} does not fit {}", rule->where,
                     ValidUtf8(OpTextsOf(op.arguments, place.text).dims));
}

bool IsWordCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Whether a recipe names a fact.
bool Names(std::string_view recipe, std::string_view fact) {
  for (size_t at = recipe.find(fact); at != std::string_view::npos;
       at = recipe.find(fact, at + 1)) {
    const size_t end = at + fact.size();
    const bool begins = at == 0 || !IsWordCharacter(recipe[at - 1]);
    if (begins && (end == recipe.size() || !IsWordCharacter(recipe[end]))) return true;
  }
  return false;
}

// "vllm.toml: op 3 from aten::mm, page_size = 16 by another operator, lengths by the step's label"
std::string ReadBy(const DecidedLaunch& launch) {
  const OpRule& rule = *launch.decision->shaped_by;
  const Profile& place = *launch.place->profile;
  std::string text = fmt::format("{} from {}", rule.where,
                                 ValidUtf8(place.text.Text(place.ops[launch.decision->call].name)));
  std::set<std::string> told;
  for (const auto& [axis, recipe] : rule.axes) {
    for (const auto& [fact, value] : *launch.facts) {
      if (!Names(recipe, fact) || !told.insert(fact).second) continue;
      text +=
          fmt::format(", {} = {} by {}", fact, value,
                      launch.stated->contains(fact) ? "the manifest's config" : "another operator");
    }
  }
  if (rule.lengths) text += ", lengths by the sums in the step's label";
  return text;
}

}  // namespace

std::vector<std::string> ExplainLaunch(const DecidedLaunch& launch) {
  std::vector<std::string> lines = {ValidUtf8(launch.profile->text.Text(launch.launch->name)),
                                    "launched   " + HowLaunched(launch)};
  for (std::string& line :
       DescribeDecision(*launch.place, launch.op, launch.kernel, *launch.decision)) {
    lines.push_back(std::move(line));
  }
  lines.push_back("shape      " + WhichShape(launch));
  if (const ShapeFrom from = FindShapeFrom(launch.shape); from != ShapeFrom::kNothing) {
    lines.push_back(
        fmt::format("shape from {}: {}", ShapeFromName(from), DescribeShapeFrom(launch.shape)));
    lines.push_back("read by    " + ReadBy(launch));
  }
  lines.push_back("phase      " + WhichPhase(launch));
  return lines;
}

}  // namespace roofmark::trace
