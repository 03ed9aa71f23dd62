// SPDX-License-Identifier: Apache-2.0
#include "trace/decision.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "trace/op_texts.h"
#include "trace/recipe.h"

namespace roofmark::trace {

const OpRule* RuleOf(Place& place, uint32_t op) {
  const CpuOp& row = place.profile->ops[op];
  const OpRule* rule = place.rules.Op(row.name);
  if (rule == nullptr || !rule->matrices) return rule;
  if (!HasDims(row.arguments, place.profile->text)) return nullptr;
  const OpTexts texts = OpTextsOf(row.arguments, place.profile->text);
  const OpArguments arguments = ParseArguments(texts.dims, {}, {});
  const auto matrices =
      std::ranges::count_if(arguments.dims, [](const auto& dims) { return dims.size() >= 2; });
  while (rule != nullptr && rule->matrices && *rule->matrices != matrices) rule = rule->otherwise;
  return rule;
}

Surroundings LookAround(Place& place, uint32_t op) {
  Surroundings around;
  for (; op != kNone32; op = place.forest->Parent(op)) {
    const OpRule* rule = RuleOf(place, op);
    if (rule == nullptr) continue;
    if (rule->level == OpLevel::kGeneric) {
      if (around.generic == nullptr) {
        around.generic = rule;
        around.generic_op = op;
      }
      continue;
    }
    if (rule->level == OpLevel::kOperator) {
      around.rule = rule;
      around.op = op;
      return around;
    }
    if (around.rule == nullptr) {
      around.rule = rule;
      around.op = op;
    }
  }
  return around;
}

Decision Decide(const Surroundings& around, const KernelRule* kernel) {
  const auto by_op = [&](DecidedBy by) {
    return Decision{around.rule->op, around.rule, around.op, by};
  };
  if (around.rule != nullptr && around.rule->level == OpLevel::kOperator) {
    return by_op(DecidedBy::kOperator);
  }
  if (kernel != nullptr && kernel->level != OpLevel::kGeneric) {
    Decision decision{.op = kernel->op, .by = DecidedBy::kKernel};
    if (around.rule != nullptr && around.rule->op == kernel->op) {
      decision.shaped_by = around.rule;
      decision.call = around.op;
    }
    return decision;
  }
  if (around.rule != nullptr) return by_op(DecidedBy::kContainer);
  if (kernel != nullptr) return {.op = kernel->op, .by = DecidedBy::kGenericKernel};
  if (around.generic != nullptr) {
    return {around.generic->op, around.generic, around.generic_op, DecidedBy::kGenericOperator};
  }
  return {};
}

namespace {

// Deeper than that, a person does not read on.
constexpr int kMaxDepth = 12;

std::string_view LevelName(OpLevel level) {
  switch (level) {
    case OpLevel::kOperator:
      return "operator";
    case OpLevel::kContainer:
      return "container";
    case OpLevel::kGeneric:
      break;
  }
  return "generic";
}

std::string_view DecidedText(DecidedBy by) {
  switch (by) {
    case DecidedBy::kOperator:
      return "an operator around the launch is one of ours";
    case DecidedBy::kKernel:
      return "the kernel's name speaks for itself";
    case DecidedBy::kContainer:
      return "an operator around the launch holds such kernels";
    case DecidedBy::kGenericKernel:
      return "glue by its name, and nothing else claims it";
    case DecidedBy::kGenericOperator:
      return "glue by the operator around it, and nothing else claims it";
    case DecidedBy::kNothing:
      break;
  }
  return "no rule names the kernel or an operator around it";
}

}  // namespace

std::vector<std::string> DescribeDecision(Place& place, uint32_t op, const KernelRule* kernel,
                                          const Decision& decision) {
  std::vector<std::string> lines;
  for (int depth = 0; op != kNone32 && depth < kMaxDepth; op = place.forest->Parent(op), ++depth) {
    const TextId name = place.profile->ops[op].name;
    const OpRule* rule = RuleOf(place, op);
    lines.push_back(fmt::format(
        "inside     {}{}", ValidUtf8(place.profile->text.Text(name)),
        rule == nullptr
            ? std::string()
            : fmt::format("  -> {} ({}, {})", rule->op, LevelName(rule->level), rule->where)));
  }
  lines.push_back(kernel == nullptr ? "name       no rule"
                                    : fmt::format("name       -> {} ({}{}, {})", kernel->op,
                                                  LevelName(kernel->level),
                                                  kernel->auxiliary ? ", aux" : "", kernel->where));
  lines.push_back(fmt::format("decided    {}: {}",
                              decision.op.empty() ? "unattributed" : decision.op,
                              DecidedText(decision.by)));
  return lines;
}

}  // namespace roofmark::trace
