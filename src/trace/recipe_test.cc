// SPDX-License-Identifier: Apache-2.0
#include "trace/recipe.h"

#include "base/testing.h"

namespace roofmark::trace {
namespace {

OpArguments Sample() {
  return ParseArguments("[[300, 16, 64], [], [[1, 2], [3]], [1024]]",
                        R"(["c10::BFloat16", "Scalar", "GenericList", "float"])",
                        R"(["", "128", "[a, \"b]", "1e-06"])");
}

std::optional<int64_t> Evaluate(std::string_view text, const Facts& facts = {}) {
  const OpArguments arguments = Sample();
  Result<std::optional<int64_t>> value = EvaluateRecipe(text, arguments, facts);
  EXPECT_THAT(value, IsOk());
  return value.value_or(std::nullopt);
}

TEST(Recipe, ReadsRecordedArguments) {
  const OpArguments arguments = Sample();
  ASSERT_EQ(arguments.dims.size(), 4U);
  EXPECT_EQ(arguments.dims[0], (std::vector<int64_t>{300, 16, 64}));
  EXPECT_TRUE(arguments.dims[2].empty());
  EXPECT_EQ(arguments.types[3], "float");
  EXPECT_EQ(arguments.concrete[2], "[a, \"b]");
  EXPECT_TRUE(ParseArguments("", "[", "x").dims.empty());
}

TEST(Recipe, ComputesAxes) {
  EXPECT_EQ(Evaluate("rows(0)"), 4800);
  EXPECT_EQ(Evaluate("last(0)"), 64);
  EXPECT_EQ(Evaluate("dim(0, -2) * 2 + 1"), 33);
  EXPECT_EQ(Evaluate("count(0)/dim(0,0)"), 1024);
  EXPECT_EQ(Evaluate("(int(1) - 28) / 10"), 10);
  EXPECT_EQ(Evaluate("page_size * 2", {{"page_size", 16}}), 32);
}

TEST(Recipe, IsUnknownWhereAnythingIsMissing) {
  for (const char* text :
       {"rows(1)", "last(2)", "dim(0, 3)", "dim(9, 0)", "int(0)", "int(3)", "page_size",
        "last(0) / 7", "1 + rows(1)", "9223372036854775807 * 2", "last(0) / 0"}) {
    EXPECT_EQ(Evaluate(text), std::nullopt) << text;
  }
}

TEST(Recipe, SaysWhichFactsItAsksFor) {
  EXPECT_THAT(FactsOf("rows(0) * dim(0, -2) / dim(0, -2)"), testing::IsEmpty());
  EXPECT_THAT(FactsOf("(page_size * last(1) + top_k2) / page_size"),
              testing::ElementsAre("page_size", "top_k2"));
}

TEST(Recipe, RefusesWhatDoesNotParse) {
  for (const char* text : {"", "1 +", "rows(0", "rows 0)", "dim(0)", "3 4", "$", "frob(1)"}) {
    EXPECT_THAT(EvaluateRecipe(text, {}, {}), HasError(ErrorKind::kInput, "recipe")) << text;
  }
}

TEST(Recipe, NamesElementTypes) {
  EXPECT_EQ(ElementTypeName("c10::BFloat16"), "bf16");
  EXPECT_EQ(ElementTypeName("c10::Float8_e4m3fn"), "f8_e4m3fn");
  EXPECT_EQ(ElementTypeName("c10::complex<float>"), "c10::complex<float>");
}

}  // namespace
}  // namespace roofmark::trace
