// SPDX-License-Identifier: Apache-2.0
#include "cli/selection.h"

#include <algorithm>

#include "base/text.h"
#include "suite/from_aggregate.h"
#include "suite/named_suite.h"
#include "suite/released_suite.h"

namespace roofmark::cli {
namespace {

Result<std::vector<Tier>> ParseTiers(std::string_view text) {
  std::vector<Tier> tiers;
  if (text == "all") return tiers;
  for (const std::string_view name : Split(text, ',')) tiers.push_back(TRY(ParseTier(Trim(name))));
  return tiers;
}

}  // namespace

Result<suite::Suite> LoadSelection(const Selection& selection, const std::string& default_tier) {
  suite::Selection wanted{.operators = selection.operators, .shapes = selection.shapes};
  // Shapes that are named are meant, whatever their tier; a mined suite brings its own.
  if (!selection.tier.empty() || (selection.shapes.empty() && selection.suite.empty())) {
    // Imported operators have one tier, which is meant.
    const std::string without = selection.operators_folder.empty() ? default_tier : "all";
    wanted.tiers = TRY_IN(ParseTiers(selection.tier.empty() ? without : selection.tier), "--tier");
  }
  if (selection.suite.empty()) return suite::LoadSuite(wanted, selection.operators_folder);
  if (!selection.operators_folder.empty()) {
    return Fail(ErrorKind::kUsage,
                "--suite has weights of the shipped operators; give either it "
                "or --operators");
  }
  const std::string name = selection.suite.string();
  if (name.ends_with(".toml") || TRY(suite::IsNamedSuite(name))) {
    return suite::LoadNamedSuite(name, wanted);
  }
  if (fs::is_directory(selection.suite)) return suite::LoadReleasedSuite(selection.suite, wanted);
  return suite::LoadWeightedSuite(selection.suite, wanted);
}

}  // namespace roofmark::cli
