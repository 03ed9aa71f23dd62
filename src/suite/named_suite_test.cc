// SPDX-License-Identifier: Apache-2.0
#include "suite/named_suite.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::suite {
namespace {

const fs::path kRoot = ROOFMARK_SOURCE_DIR;

std::vector<std::unique_ptr<const Operator>> Shipped() {
  return *ReadOperators(kRoot / "operators");
}

Result<SuiteFile> Shipped(const std::string& name) {
  return ReadNamedSuite((kRoot / "suites" / (name + ".toml")).string());
}

Result<SuiteFile> ReadText(std::string_view text) {
  const TempDir dir = TRY(TempDir::Make("roofmark-suite"));
  const fs::path path = dir.path() / "mine.toml";
  TRY(WriteFile(path, text));
  return ReadNamedSuite(path.string());
}

constexpr std::string_view kMine = R"(name = "mine"
summary = "a test"
source = "a test"
tiers = ["corrected"]
raw_sum = 4
[operators.rms_norm]
weight = 3
label = "published"
provenance = "somewhere"
phases = { decode = 0.25, prefill = 0.75 }
[operators.silu_and_mul]
weight = 1
label = "mined"
provenance = "elsewhere"
)";

std::string Replace(std::string_view from, std::string_view to) {
  std::string text(kMine);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::map<std::string, double> Sums(const Suite& suite, bool by_phase) {
  std::map<std::string, double> sums;
  for (const Workload& workload : suite.workloads) {
    const std::string_view phase = by_phase ? PhaseName(workload.shape.phase) : "";
    sums[fmt::format("{} {}", workload.op->name, phase)] += workload.weight.value;
  }
  return sums;
}

TEST(NamedSuite, Published440HasTheReleasedShapesAndWeights) {
  const auto file = Shipped("published-440");
  ASSERT_THAT(file, IsOk());
  EXPECT_EQ(file->operators.size(), 30u);
  EXPECT_NEAR(file->raw_sum, 1.09478, 1e-9);
  EXPECT_EQ(file->operators.front().op, "unified_attention");
  double top_five = 0;
  for (size_t i = 0; i < 5; ++i) top_five += file->operators[i].share;
  EXPECT_NEAR(top_five, 0.637, 0.0005);  // arXiv 2607.14541 says about 64 %
  const auto suite = MakeNamedSuite(*file, Shipped(), {});
  ASSERT_THAT(suite, IsOk());
  EXPECT_EQ(suite->workloads.size(), 440u);
  double total = 0;
  for (const Workload& workload : suite->workloads) total += workload.weight.value;
  EXPECT_NEAR(total, 1, 1e-12);
}

TEST(NamedSuite, CardsCarryTheReleasedWeightsNormalised) {
  const auto file = Shipped("published-440");
  ASSERT_THAT(file, IsOk());
  const auto operators = Shipped();
  for (const OperatorShare& share : file->operators) {
    for (const auto& op : operators) {
      if (op->name != share.op && op->variant_of != share.op) continue;
      EXPECT_NEAR(op->weight_published, share.share, 1e-6) << op->name;
    }
  }
}

TEST(NamedSuite, Production1WeighsEveryOperatorAndSaysWhereEachWeightComesFrom) {
  const auto file = Shipped("production-1");
  ASSERT_THAT(file, IsOk());
  const auto suite = MakeNamedSuite(*file, Shipped(), {});
  ASSERT_THAT(suite, IsOk());
  double total = 0;
  std::set<std::string> operators;
  for (const Workload& workload : suite->workloads) {
    EXPECT_EQ(workload.shape.tier, Tier::kCorrected);
    EXPECT_FALSE(workload.weight.provenance.empty()) << workload.Id();
    EXPECT_GT(workload.weight.value, 0) << workload.Id();
    EXPECT_NE(workload.shape.phase, Phase::kUnknown) << workload.Id();
    total += workload.weight.value;
    const std::string& base = workload.op->variant_of;
    operators.insert(base.empty() ? workload.op->name : base);
  }
  EXPECT_NEAR(total, 1, 1e-12);
  EXPECT_EQ(operators.size(), 31u);  // the released ones and dense products
}

TEST(NamedSuite, SplitsByPhaseAsTheFileSaysAndEquallyInside) {
  const auto file = ReadText(kMine);
  ASSERT_THAT(file, IsOk());
  const auto suite = MakeNamedSuite(*file, Shipped(), {});
  ASSERT_THAT(suite, IsOk());
  const auto phases = Sums(*suite, true);
  EXPECT_NEAR(phases.at("rms_norm decode"), 0.75 * 0.25, 1e-12);
  EXPECT_NEAR(phases.at("rms_norm prefill"), 0.75 * 0.75, 1e-12);
  EXPECT_NEAR(Sums(*suite, false).at("silu_and_mul "), 0.25, 1e-12);
  EXPECT_EQ(suite->workloads.front().weight.label, WeightLabel::kAssumed);
  EXPECT_NE(suite->workloads.front().weight.provenance.find("published weight 3 of rms_norm"),
            std::string::npos);
}

TEST(NamedSuite, ASelectionKeepsTheWeightsOfTheWholeSuite) {
  const auto file = ReadText(kMine);
  const auto suite = MakeNamedSuite(*file, Shipped(), {.operators = {"silu_and_mul"}});
  ASSERT_THAT(suite, IsOk());
  EXPECT_NEAR(Sums(*suite, false).at("silu_and_mul "), 0.25, 1e-12);
}

TEST(NamedSuite, RefusesWhatDoesNotAddUpOrIsMisspelt) {
  EXPECT_THAT(ReadText(Replace("raw_sum = 4", "raw_sum = 5")),
              HasError(ErrorKind::kInput, "add up to 4, and raw_sum says 5"));
  EXPECT_THAT(ReadText(Replace("0.25, ", "0.5, ")), HasError(ErrorKind::kInput, "not to 1"));
  EXPECT_THAT(ReadText(Replace("\"mined\"", "\"guessed\"")),
              HasError(ErrorKind::kInput, "must be published, mined or assumed"));
  EXPECT_THAT(ReadText(Replace("name = \"mine\"", "name = \"yours\"")),
              HasError(ErrorKind::kInput, "must be the file's name"));
  EXPECT_THAT(ReadText(Replace("weight = 1", "weight = -1")),
              HasError(ErrorKind::kInput, "must be over 0"));
}

TEST(NamedSuite, RefusesAnOperatorWithoutShapesAndAPhaseThatIsNotSaid) {
  const auto file = ReadText(Replace("[operators.silu_and_mul]", "[operators.no_such_thing]"));
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(MakeNamedSuite(*file, Shipped(), {}),
              HasError(ErrorKind::kInput, "no shape of operator 'no_such_thing'"));
  const auto narrow = ReadText(Replace("decode = 0.25, prefill = 0.75", "prefill = 1.0"));
  ASSERT_THAT(narrow, IsOk());
  EXPECT_THAT(MakeNamedSuite(*narrow, Shipped(), {}),
              HasError(ErrorKind::kInput, "phases says nothing of decode"));
}

TEST(NamedSuite, RefusesAPartForAPhaseThatNoShapeHas) {
  const auto file = ReadText(
      Replace("decode = 0.25, prefill = 0.75", "decode = 0.25, prefill = 0.65, mixed = 0.1"));
  ASSERT_THAT(file, IsOk());
  EXPECT_THAT(MakeNamedSuite(*file, Shipped(), {}),
              HasError(ErrorKind::kInput, "gives 0.1 to mixed, and no shape"));
}

}  // namespace
}  // namespace roofmark::suite
