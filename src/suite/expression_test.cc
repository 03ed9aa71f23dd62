// SPDX-License-Identifier: Apache-2.0
#include "suite/expression.h"

#include "base/testing.h"

namespace roofmark::suite {
namespace {

double Value(std::string_view text, const Scope& scope = {}) {
  const auto expression = Expression::Parse(text);
  EXPECT_THAT(expression, IsOk());
  const auto value = expression->Evaluate(scope);
  EXPECT_THAT(value, IsOk());
  return *value;
}

TEST(Expression, ComputesOverItsAxes) {
  EXPECT_EQ(Value("2*m*n*k + m", {{"m", 3}, {"n", 5}, {"k", 7}}), 213);
  EXPECT_EQ(Value("ceil_div(k, 128) + min(k, 7) + max(1, 2, 3) + log2(8)", {{"k", 129}}), 15);
  EXPECT_EQ(Value("n > 4 ? 1 : 2", {{"n", 4}}), 2);
  EXPECT_EQ(Value("n >= 4 && n == 4", {{"n", 4}}), 1);
}

TEST(Expression, RoundsUpWhatIsNotWholeButForRounding) {
  EXPECT_EQ(Value("ceil(2.1)", {}), 3);
  EXPECT_EQ(Value("ceil(0.1*3*10)", {}), 3);
  EXPECT_EQ(Value("min(128, ceil(128*(1 - (1 - 8/128)^t)))", {{"t", 1}}), 8);
}

TEST(Expression, DividesUpwardsExactlyNearTheLargestInteger) {
  EXPECT_EQ(Value("ceil_div(a, 2)", {{"a", 9007199254740991.0}}), 4503599627370496.0);
  EXPECT_EQ(Value("ceil_div(a, 3)", {{"a", 9007199254740990.0}}), 3002399751580330.0);
}

TEST(Expression, NamesWhatItNeeds) {
  EXPECT_THAT(Expression::Parse("b*a + a")->names(), testing::ElementsAre("a", "b"));
  EXPECT_THAT(Expression::Parse("hiden*2")->Evaluate({{"hidden", 4}}),
              HasError(ErrorKind::kInput, "names 'hiden', which has no value (known: hidden)"));
}

TEST(Expression, RefusesWhatACardMayNotUse) {
  EXPECT_THAT(Expression::Parse("2*(m"), HasError(ErrorKind::kInput, "'2*(m' is no expression"));
  EXPECT_THAT(Expression::Parse("sin(m)"), HasError(ErrorKind::kInput, "ceil_div"));
  EXPECT_THAT(Expression::Parse("m = 4"), HasError(ErrorKind::kInput, "assigns"));
  EXPECT_THAT(Expression::Parse("m, n"), HasError(ErrorKind::kInput, "more than one value"));
  EXPECT_THAT(Expression::Parse(""), HasError(ErrorKind::kInput, "is no expression"));
}

TEST(Expression, RefusesResultsThatAreNotFinite) {
  EXPECT_THAT(Expression::Parse("1/m")->Evaluate({{"m", 0}}),
              HasError(ErrorKind::kInput, "finite"));
  EXPECT_THAT(Expression::Parse("log2(m)")->Evaluate({{"m", 0}}),
              HasError(ErrorKind::kInput, "finite"));
  EXPECT_THAT(Expression::Parse("ceil_div(m, 0)")->Evaluate({{"m", 1}}),
              HasError(ErrorKind::kInput, "finite"));
}

TEST(Expression, AcceptsOnlyExactWholeNumbersAsSizes) {
  EXPECT_EQ(*Expression::Parse("m/2")->EvaluateSize({{"m", 4}}), 2);
  EXPECT_THAT(Expression::Parse("m/2")->EvaluateSize({{"m", 3}}),
              HasError(ErrorKind::kInput, "'m/2' is 1.5"));
  EXPECT_THAT(Expression::Parse("m-4")->EvaluateSize({{"m", 3}}),
              HasError(ErrorKind::kInput, "at least 0"));
  EXPECT_THAT(Expression::Parse("m*m")->EvaluateSize({{"m", 1e9}}),
              HasError(ErrorKind::kInput, "2^53"));
}

TEST(Expression, SumsOverListsAndPairsOfLists) {
  const std::vector<int64_t> queries = {3, 1};
  const std::vector<int64_t> keys = {3, 10};
  const auto pairs = Expression::Parse("L*(M - L) + L*(L + 1)/2");
  EXPECT_EQ(*pairs->SumOver(queries, keys, {}), 6 + 10);
  EXPECT_EQ(*Expression::Parse("ceil_div(L, p)")->SumOver(keys, {}, {{"p", 2}}), 2 + 5);
  EXPECT_EQ(*Expression::Parse("L")->MaxOver(keys, {}, {}), 10);
  EXPECT_EQ(*Expression::Parse("L")->MaxOver({}, {}, {}), 0);
  EXPECT_THAT(pairs->SumOver(queries, {}, {}), HasError(ErrorKind::kInput, "'M'"));
}

TEST(Expression, RefusesSumsThatLoseExactness) {
  const std::vector<int64_t> large(3, int64_t{1} << 52);
  EXPECT_THAT(Expression::Parse("L")->SumOver(large, {}, {}), HasError(ErrorKind::kInput, "2^53"));
  EXPECT_THAT(Expression::Parse("L/2")->SumOver(std::vector<int64_t>{3}, {}, {}),
              HasError(ErrorKind::kInput, "whole number"));
}

TEST(UsableName, ExcludesFunctionsAndListEntries) {
  EXPECT_TRUE(IsUsableName("head_size"));
  EXPECT_FALSE(IsUsableName("min"));
  EXPECT_FALSE(IsUsableName("L"));
  EXPECT_FALSE(IsUsableName("2n"));
  EXPECT_FALSE(IsUsableName("a-b"));
}

}  // namespace
}  // namespace roofmark::suite
