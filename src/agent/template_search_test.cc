// SPDX-License-Identifier: Apache-2.0
#include "agent/template_search.h"

#include <cmath>
#include <set>

#include "base/testing.h"

namespace roofmark::agent {
namespace {

Parameter Numbers(const std::string& name, int count) {
  Parameter parameter{.name = name, .values = {}, .why = "why " + name};
  for (int i = 0; i < count; ++i) parameter.values.emplace_back(i);
  return parameter;
}

Family Toy() {
  Family family{.name = "toy",
                .source = "roofmark-parameters: @parameters@\n@a@ @b@ @c@\n",
                .parameters = {Numbers("a", 4), Numbers("b", 3), Numbers("c", 5)},
                .hash = "0123456789abcdef"};
  family.excludes = {{{"a", Json(3)}, {"b", Json(2)}}};
  return family;
}

// ln of a time with its least value at a = 2, b = 1, c = 3; a = 1 is refused.
PastStep Judge(const Proposal& proposal) {
  PastStep step{.parameters = proposal.parameters};
  const auto at = [&](const char* name) {
    return static_cast<double>(*proposal.parameters.Int(name));
  };
  step.passed = at("a") != 1;
  step.log_ratio = 0.2 * (std::abs(at("a") - 2) + std::abs(at("b") - 1) + std::abs(at("c") - 3));
  return step;
}

struct Search {
  std::vector<PastStep> history;
  std::vector<std::string> hypotheses;

  // False when the provider has nothing left.
  bool Step(TemplateSearch* provider, const std::string& original = "kernel") {
    const std::string name = "op";
    const auto proposal = provider->Propose(
        {.operator_name = name, .original = original, .champion = original, .history = history});
    if (!proposal || !proposal->has_value()) return false;
    history.push_back(Judge(**proposal));
    hypotheses.push_back((*proposal)->hypothesis);
    return true;
  }
};

double Best(const Search& search) {
  double best = 10;
  for (const PastStep& step : search.history) {
    if (step.passed) best = std::min(best, step.log_ratio);
  }
  return best;
}

TEST(TemplateSearch, FindsTheBestMemberLongBeforeItHasTriedAll) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    TemplateSearch provider(Toy(), seed);
    Search search;
    for (int i = 0; i < 25; ++i) ASSERT_TRUE(search.Step(&provider));
    EXPECT_EQ(Best(search), 0) << seed;
  }
}

TEST(TemplateSearch, ProposesEveryMemberOnceAndThenNothing) {
  TemplateSearch provider(Toy(), 1);
  Search search;
  while (search.Step(&provider)) {
  }
  EXPECT_EQ(search.history.size(), 4u * 3 * 5 - 5);
  std::set<std::string> seen;
  for (const PastStep& step : search.history) seen.insert(step.parameters.Dump());
  EXPECT_EQ(seen.size(), search.history.size());
}

TEST(TemplateSearch, GivesTheSameAnswerToTheSameHistory) {
  TemplateSearch first(Toy(), 3);
  Search search;
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(search.Step(&first));
  Search again{.history = {search.history.begin(), search.history.begin() + 7}, .hypotheses = {}};
  TemplateSearch second(Toy(), 3);
  ASSERT_TRUE(again.Step(&second));
  EXPECT_EQ(again.history.back().parameters, search.history[7].parameters);
}

TEST(TemplateSearch, StartsFromTheOriginalWhereThatIsAMember) {
  TemplateSearch provider(Toy(), 1);
  Search search;
  ASSERT_TRUE(search.Step(&provider, Toy().Render({2, 1, 2})));
  const Json& first = search.history[0].parameters;
  const int64_t distance =
      std::abs(*first.Int("a") - 2) + std::abs(*first.Int("b") - 1) + std::abs(*first.Int("c") - 2);
  EXPECT_GE(distance, 1);
  EXPECT_THAT(search.hypotheses[0], testing::HasSubstr("instead of"));
}

TEST(TemplateSearch, SaysWhichChangeItExpectsWhatFrom) {
  TemplateSearch provider(Toy(), 1);
  Search search;
  ASSERT_TRUE(search.Step(&provider));
  ASSERT_TRUE(search.Step(&provider));
  EXPECT_THAT(search.hypotheses[0], testing::StartsWith("a starting point"));
  EXPECT_THAT(search.hypotheses[1], testing::ContainsRegex("[abc] 1 instead of 0: why [abc]"));
}

TEST(TemplateSearch, RefusesAHistoryOfAnotherFamily) {
  TemplateSearch provider(Toy(), 1);
  const std::string text = "kernel";
  const std::vector<PastStep> history = {{.parameters = Json::MakeObject().Set("x", 1)}};
  EXPECT_THAT(provider.Propose(
                  {.operator_name = text, .original = text, .champion = text, .history = history}),
              HasError(ErrorKind::kInput, "no member of the family toy"));
}

}  // namespace
}  // namespace roofmark::agent
