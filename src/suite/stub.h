// SPDX-License-Identifier: Apache-2.0
// Stubs: cards to fill in. A fleet spends time in operators that nobody has described yet; for each
// of them a stub holds what the profiles tell (name, axes, element types, shapes) and marks what
// only a person knows. A stub is never read as a card.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/aggregate.h"
#include "model/operator.h"

namespace roofmark::suite {

// What a value starts with that is still to be filled in.
inline constexpr std::string_view kFillIn = "FILL IN";

struct Stub {
  std::string op;
  double share = 0;              // of the fleet's GPU time
  size_t shapes = 0;             // written
  std::filesystem::path folder;  // empty where nothing was written
  std::string why_not;           // and why: the folder is there, no shape is known, ...
};

// Writes <folder>/<operator>/operator.toml and shapes.jsonl for every operator of the aggregate
// without a card among `operators`, largest share first; shapes by share, at most 32 of them. What
// is there already is left alone. Errors: kIo; kInput where the aggregate holds no GPU time.
Result<std::vector<Stub>> WriteStubs(const Aggregate& aggregate,
                                     std::span<const std::unique_ptr<const Operator>> operators,
                                     const std::filesystem::path& folder);

// Refuses a card that is a stub or still holds a mark of one, and names all that is to be filled
// in. `folder` is the operator's. Errors: kInput.
Result<void> RefuseStub(const Json& card, const std::filesystem::path& folder);

}  // namespace roofmark::suite
