// SPDX-License-Identifier: Apache-2.0
// A provider without a model: a search over a family of kernels. From a starting member it tries
// the other values of one parameter after another and moves to the fastest, until no single change
// helps; then it starts again somewhere else. It ranks by the controller's estimates; what becomes
// of its proposals is the controller's decision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agent/family.h"
#include "agent/provider.h"

namespace roofmark::agent {

class TemplateSearch : public Provider {
 public:
  // The same seed gives the same search.
  TemplateSearch(Family family, uint64_t seed) : family_(std::move(family)), seed_(seed) {}

  std::string Identity() const override;
  // Nothing is left when every member was judged. A kernel that is itself a member (rendered by an
  // earlier campaign) is where the search starts, otherwise the first value of each parameter.
  Result<std::optional<Proposal>> Propose(const Context& context) override;

 private:
  Family family_;
  uint64_t seed_;
};

}  // namespace roofmark::agent
