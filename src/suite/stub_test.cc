// SPDX-License-Identifier: Apache-2.0
#include "suite/stub.h"

#include "base/files.h"
#include "base/testing.h"
#include "model/aggregate_for_tests.h"
#include "suite/card.h"
#include "suite/suite.h"

namespace roofmark::suite {
namespace {

using testing::HasSubstr;

AggregateCell Cell(std::string op, Axes axes, int64_t ns, std::string dtype = "bf16") {
  return {.op = std::move(op),
          .axes = std::move(axes),
          .dtypes = {{"a", std::move(dtype)}},
          .phase = Phase::kDecode,
          .calls = 1,
          .launches = 1,
          .sum_ns = ns,
          .exposed_ns = ns,
          .kernels = {{"kernel_of\nmany <lines>", {1, ns}}}};
}

Axes Sizes(int64_t m) {
  return {{"m", m}, {"lens", std::vector<int64_t>{m, 1}}, {"alpha", 0.5}};
}

class Stubs : public testing::Test {
 protected:
  std::vector<Stub> Write(std::vector<AggregateCell> cells) {
    const Aggregate aggregate = AggregateOf({WithCells({.hash = "a"}, std::move(cells))});
    const auto operators = ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators");
    return *WriteStubs(aggregate, *operators, dir_.path());
  }
  std::string Text(const std::string& file) { return *ReadFile(dir_.path() / file); }
  void Replace(const std::string& file, const std::string& from, const std::string& to) {
    std::string text = Text(file);
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from)) {
      text.replace(at, from.size(), to);
    }
    ASSERT_THAT(WriteFile(dir_.path() / file, text), IsOk());
  }

  TempDir dir_ = *TempDir::Make("roofmark-stubs");
};

TEST_F(Stubs, HoldWhatTheProfilesTellAboutAnOperatorWithoutACard) {
  const auto stubs =
      Write({Cell("matmul_of_mine", Sizes(8), 30), Cell("matmul_of_mine", Sizes(64), 60),
             Cell("rms_norm", {{"tokens", int64_t{1}}}, 10)});
  ASSERT_EQ(stubs.size(), 1u);
  EXPECT_EQ(stubs[0].op, "matmul_of_mine");
  EXPECT_DOUBLE_EQ(stubs[0].share, 0.9);
  EXPECT_EQ(stubs[0].shapes, 2u);
  const std::string card = Text("matmul_of_mine/operator.toml");
  EXPECT_THAT(card, HasSubstr("90.00 % of the fleet's GPU time\n# is matmul_of_mine"));
  EXPECT_THAT(card,
              HasSubstr("[axes]\nlens = \"list\"\nm = \"int\"\n\n[attributes]\nalpha = 0.5\n"));
  EXPECT_THAT(card, HasSubstr("name = \"a\"\ndtype = \"bf16\""));
  EXPECT_THAT(card, HasSubstr("#   kernel_of many <lines>\n"));
  const auto shapes = ReadJsonLines(dir_.path() / "matmul_of_mine/shapes.jsonl");
  ASSERT_THAT(shapes, IsOk());
  ASSERT_EQ(shapes->size(), 2u);
  EXPECT_EQ((*shapes)[0].Find("axes")->Find("m")->as_int(), 64);  // the heaviest first
}

TEST_F(Stubs, AreRefusedAsCardsUntilTheyAreFilledIn) {
  Write({Cell("twice", {{"n", int64_t{4}}}, 5)});
  const fs::path folder = dir_.path() / "twice";
  const auto stub = ReadOperator(folder);
  ASSERT_THAT(stub, HasError(ErrorKind::kInput,
                             "twice/operator.toml: is a stub; still to fill in: "
                             "summary, source, inputs[1].shape[1], "
                             "outputs[1].dtype, outputs[1].shape[1]"));
  EXPECT_THAT(stub.error().message(),
              HasSubstr("tolerance.fill_in.kind, reference.py; then delete"));
  // A card with the line deleted is no less a stub.
  Replace("twice/operator.toml", "stub = true\n", "");
  EXPECT_THAT(ReadOperator(folder), HasError(ErrorKind::kInput, "still to fill in: summary"));
}

TEST_F(Stubs, BecomeOperatorsOnceTheyAreFilledIn) {
  Write({Cell("twice", {{"n", int64_t{4}}}, 5)});
  const std::string file = "twice/operator.toml";
  Replace(file, "FILL IN: a size over the axes, each", "n");
  Replace(file, "name = \"fill_in\"", "name = \"out\"");
  Replace(file, "[tolerance.fill_in]", "[tolerance.out]");
  Replace(file, "dtype = \"FILL IN\"", "dtype = \"bf16\"");
  Replace(file, "FILL IN: numeric (with rtol, atol_rms, rel_l2), exact or codes (with code_slack)",
          "exact");
  Replace(file, "FILL IN: tensor_bf16, tensor_f16, tensor_fp8, tensor_tf32, vector_f32 or special",
          "vector_f32");
  Replace(file, "FILL IN: operations that the contract needs at least", "n");
  Replace(file, "FILL IN: bytes that must be read at least", "2*n");
  Replace(file, "FILL IN: bytes that must be written at least", "2*n");
  Replace(file, "FILL IN", "out = 2 * a");
  EXPECT_THAT(ReadOperator(dir_.path() / "twice"), HasError(ErrorKind::kInput, "reference.py"));
  ASSERT_THAT(WriteFile(dir_.path() / "twice/reference.py", "def inputs(): pass\n"), IsOk());
  EXPECT_THAT(ReadOperator(dir_.path() / "twice"),
              HasError(ErrorKind::kInput, "delete the line `stub = true`"));
  Replace(file, "stub = true\n", "");
  const auto op = ReadOperator(dir_.path() / "twice");
  ASSERT_THAT(op, IsOk());
  EXPECT_EQ(op->shapes.size(), 1u);
}

TEST_F(Stubs, LeaveAloneWhatIsThereAndSayWhereNothingIsKnown) {
  ASSERT_THAT(WriteFile(dir_.path() / "mine/operator.toml", "# my work"), IsOk());
  const auto stubs =
      Write({Cell("mine", {{"n", int64_t{4}}}, 50), Cell("dark", {}, 30),
             Cell("../evil", {{"n", int64_t{4}}}, 20), Cell("odd", {{"n\"]", int64_t{4}}}, 10)});
  ASSERT_EQ(stubs.size(), 4u);
  EXPECT_THAT(stubs[0].why_not, HasSubstr("mine is there already"));
  EXPECT_EQ(stubs[1].why_not, "no profile tells its shapes");
  EXPECT_THAT(stubs[2].why_not, HasSubstr("cannot be a name"));
  EXPECT_THAT(stubs[3].why_not, HasSubstr("cannot be a name"));
  EXPECT_EQ(Text("mine/operator.toml"), "# my work");
  EXPECT_EQ(ListFolder(dir_.path())->size(), 1u);
}

TEST_F(Stubs, DoNotTrustElementTypesThatAreNone) {
  Write({Cell("twice", {{"n", int64_t{4}}}, 5, "\"]\nname = \"x")});
  EXPECT_THAT(Text("twice/operator.toml"), HasSubstr("name = \"a\"\ndtype = \"FILL IN\""));
}

}  // namespace
}  // namespace roofmark::suite
