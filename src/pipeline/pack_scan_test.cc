// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/files.h"
#include "base/testing.h"
#include "pipeline/pack_hidden_internal.h"
#include "pipeline/pack_numbers_internal.h"
#include "pipeline/pack_scan_internal.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

std::vector<std::string> Written(std::string_view text) {
  std::vector<std::string> written;
  for (const NumberToken& token : FindNumbers(text)) written.push_back(token.written);
  return written;
}

TEST(FindNumbers, ReadsPlainScientificAndGroupedNumbers) {
  EXPECT_THAT(Written("a 12, 3.5 and 1e-6; 7.6825e+06us"),
              testing::ElementsAre("12", "3.5", "1e-6", "7.6825e+06"));
  EXPECT_THAT(Written("1,234,567"),
              testing::ElementsAre("1,234,567", "1", "234,567", "234", "567"));
  EXPECT_THAT(Written("[256,130]"), testing::ElementsAre("256,130", "256", "130"));
}

TEST(FindNumbers, SeesNoneInHashesAndTheDigitsOfNames) {
  EXPECT_THAT(Written("5d41402abc4b2a76b9719d911017c592"), testing::IsEmpty());
  EXPECT_THAT(Written("bf16 c-decode-h4096"), testing::ElementsAre("16", "4096"));
}

TEST(GivesAway, IsNotSaidOfRoundNumbersThatStandInEveryText) {
  EXPECT_FALSE(GivesAway(FindNumbers("10.0").front(), 10));
  EXPECT_TRUE(GivesAway(FindNumbers("10.5").front(), 10.5));
}

TEST(GivesAway, ComparesSignificantDigitsAtAnyScale) {
  const auto gives = [](std::string_view text, double value) {
    return GivesAway(FindNumbers(text).front(), value);
  };
  EXPECT_TRUE(gives("1.932462", 1.932462));
  EXPECT_TRUE(gives("0.001932462", 1.932462));
  EXPECT_TRUE(gives("1.9325", 1.932462));
  EXPECT_TRUE(gives("20480000", 20480000));
  EXPECT_FALSE(gives("1.9326", 1.932462));
  EXPECT_FALSE(gives("1.93", 1.932462));
  EXPECT_FALSE(gives("2048", 20480000));
  EXPECT_TRUE(gives("9.95", 9.95));
  EXPECT_FALSE(gives("140", 140));
}

TEST(Hidden, NamesEveryKeyOfTheReleasedFigures) {
  // Words that any text may use: what a figure limits, and where it was taken.
  const std::vector<std::string> open = {"regime", "source"};
  const auto operators = suite::ReadOperators(fs::path(ROOFMARK_SOURCE_DIR) / "operators");
  ASSERT_THAT(operators, IsOk());
  for (const auto& op : *operators) {
    const auto lines = ReadJsonLines(op->folder / "shapes.jsonl");
    ASSERT_THAT(lines, IsOk());
    for (const Json& line : *lines) {
      const Json* published = line.Find("published");
      if (published == nullptr) continue;
      for (const auto& [key, value] : published->object()) {
        std::string bare = key;
        std::erase(bare, '_');
        EXPECT_TRUE(std::ranges::find(kHiddenNames, bare) != kHiddenNames.end() ||
                    std::ranges::find(open, key) != open.end())
            << key;
      }
    }
  }
}

TEST(Scanner, AllowsValuesOfThePublicPart) {
  const Hidden hidden{.figures = {{.value = 16384, .what = "a figure"}}, .texts = {}, .words = {}};
  const Surroundings nowhere;
  Scanner scanner{.hidden = hidden, .surroundings = nowhere, .allowed = {}};
  EXPECT_EQ(scanner.ScanText("f", "16384").size(), 1u);
  scanner.allowed = NumbersIn("16384");
  EXPECT_THAT(scanner.ScanText("f", "16384"), testing::IsEmpty());
}

TEST(Scanner, KnowsAddressesAndRelativePathsFromPathsOfAMachine) {
  const Hidden hidden;
  const Surroundings around{.words = {"buildbox"}};
  const Scanner scanner{.hidden = hidden, .surroundings = around, .allowed = {}};
  EXPECT_THAT(scanner.ScanText("f", "https://example.org/home/x and src/work/x and </div/>"),
              testing::IsEmpty());
  EXPECT_EQ(scanner.ScanText("f", "on buildbox, (/work/x)").size(), 1u);
  EXPECT_EQ(scanner.ScanText("f", "on buildbox").size(), 1u);
  EXPECT_THAT(scanner.ScanText("f", "on buildboxes"), testing::IsEmpty());
  EXPECT_EQ(scanner.ScanName("a/buildbox.txt").size(), 1u);
}

}  // namespace
}  // namespace roofmark::pipeline
