// SPDX-License-Identifier: Apache-2.0
// The order of evidence in one place: an operator around the launch that is one operator of ours; a
// kernel name that speaks for itself; a container around it; glue.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trace/op_forest.h"
#include "trace/profile.h"
#include "trace/rules.h"
#include "trace/string_table.h"

namespace roofmark::trace {

// Rules by text, each looked up once. The rules and texts must outlive it.
class RuleCache {
 public:
  RuleCache(const Rules& rules, const StringTable& text)
      : rules_(rules), text_(text), ops_(text.size()), kernels_(text.size()) {}

  const OpRule* Op(TextId name) {
    Entry<OpRule>& entry = ops_[name];
    if (!entry.asked) entry = {true, rules_.FindOp(text_.Text(name))};
    return entry.rule;
  }
  const KernelRule* Kernel(TextId name) {
    Entry<KernelRule>& entry = kernels_[name];
    if (!entry.asked) entry = {true, rules_.FindKernel(text_.Text(name))};
    return entry.rule;
  }

 private:
  template <typename T>
  struct Entry {
    bool asked = false;
    const T* rule = nullptr;
  };
  const Rules& rules_;
  const StringTable& text_;
  std::vector<Entry<OpRule>> ops_;
  std::vector<Entry<KernelRule>> kernels_;
};

// A profile whose operators can claim kernels: the profile itself, or a capture of its graphs.
struct Place {
  const Profile* profile;
  const OpForest* forest;
  RuleCache rules;
  uint32_t first_call;  // numbers of operator calls, distinct over all places
};

// The rule of an operator of a place, by its name and, where rules ask for that, its arguments;
// nullptr where there is none.
const OpRule* RuleOf(Place& place, uint32_t op);

// What the operators around a launch say.
struct Surroundings {
  const OpRule* rule = nullptr;  // of the operator that is one of ours, else of a container
  uint32_t op = kNone32;         // its row
  const OpRule* generic = nullptr;
  uint32_t generic_op = kNone32;
};
Surroundings LookAround(Place& place, uint32_t op);

enum class DecidedBy { kNothing, kOperator, kKernel, kContainer, kGenericKernel, kGenericOperator };

// Which operator, and the call whose arguments give its shape.
struct Decision {
  std::string_view op;
  const OpRule* shaped_by = nullptr;
  uint32_t call = kNone32;
  DecidedBy by = DecidedBy::kNothing;
};
Decision Decide(const Surroundings& around, const KernelRule* kernel);

// The operators around a launch with their rules, innermost first, and what decided: lines for a
// person.
std::vector<std::string> DescribeDecision(Place& place, uint32_t op, const KernelRule* kernel,
                                          const Decision& decision);

}  // namespace roofmark::trace
