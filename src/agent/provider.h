// SPDX-License-Identifier: Apache-2.0
// Where revisions come from. A provider proposes source and the idea behind it; it never sees a
// clock, writes no number, verdict or history, and cannot promote anything. A search over
// templates is one provider (template_search.h); a model behind an interface would be another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace roofmark::agent {

struct Proposal {
  std::string source;      // a whole kernel file
  Json parameters;         // what this revision is, in the provider's own terms; an object
  std::string hypothesis;  // why it should be faster, for the audit trail
};

// What the controller tells about an earlier proposal.
struct PastStep {
  Json parameters;
  bool passed = false;   // all gates; otherwise nothing was measured
  double log_ratio = 0;  // ln(its time / the original kernel's), an estimate
  bool promoted = false;
};

struct Context {
  const std::string& operator_name;
  const std::string& original;  // source of the kernel that the campaign began with
  const std::string& champion;  // source of the best kernel so far
  const std::vector<PastStep>& history;
};

class Provider {
 public:
  virtual ~Provider() = default;

  // Name and settings; a campaign is only continued with the provider that it began with.
  virtual std::string Identity() const = 0;

  // The next proposal, or nothing when there is none left. A pure function of the context and of
  // what Identity states, so that a campaign that was killed asks again and gets the same answer.
  virtual Result<std::optional<Proposal>> Propose(const Context& context) = 0;
};

}  // namespace roofmark::agent
