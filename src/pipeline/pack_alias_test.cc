// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/files.h"
#include "base/testing.h"
#include "pipeline/open_bundle.h"
#include "pipeline/pack.h"
#include "pipeline/pack_alias_internal.h"
#include "pipeline/pack_check.h"
#include "suite/card.h"
#include "suite/make_workload.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

using testing::HasSubstr;

const fs::path kData = ROOFMARK_SOURCE_DIR;
const std::vector<std::string> kNames = {"rms_norm"};

Operator Rms() {
  return *suite::ReadOperator(kData / "operators/rms_norm");
}

// The names and texts of all files.
std::string AllOf(const fs::path& folder) {
  std::string all;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    all += entry.path().lexically_relative(folder).string() + "\n";
    if (entry.is_regular_file()) all += *ReadFile(entry.path());
  }
  return all;
}

TEST(Alias, StandsForTheNameInEverySpelling) {
  const auto renamed = [](std::string_view text) { return Renamed(text, kNames, "zeta"); };
  EXPECT_EQ(renamed("rms_norm(x), RMS_NORM; RMSNorm, RmsNorm's rms-norm, an RMS norm"),
            "zeta(x), zeta; zeta, zeta's zeta, an zeta");
  EXPECT_EQ(renamed("_rms_norm_of, rms_norm_args"), "_zeta_of, zeta_args");
  EXPECT_EQ(renamed("from roofmark_ref.rms_norm import x"), "from roofmark_ref.zeta import x");
  EXPECT_EQ(renamed("see rms_norm. It"), "see zeta. It");
}

TEST(Alias, LeavesOtherWordsAndOtherPeoplesFunctionsAlone) {
  for (const char* text :
       {"norms", "rms_normal", "RMS normalisation", "F.rms_norm(x)", "rms, norm"}) {
    EXPECT_EQ(Renamed(text, kNames, "zeta"), text);
  }
}

TEST(Alias, IsNoUseWhereTheNameIsStillThere) {
  EXPECT_EQ(FindName("y = F.rms_norm(x)", kNames), "rms_norm");
  EXPECT_EQ(FindName("as FusedRMSNormGated does", kNames), "FusedRMSNormGated");
  EXPECT_EQ(FindName("a property", {"rope"}), std::nullopt);
  EXPECT_EQ(FindName("RMS normalisation", kNames), std::nullopt);
}

TEST(Alias, MustBeAFreshName) {
  const Operator op = Rms();
  EXPECT_THAT(CheckAlias(op, "zeta", false), IsOk());
  EXPECT_THAT(CheckAlias(op, "../x", false), HasError(ErrorKind::kInput, "letters, digits"));
  EXPECT_THAT(CheckAlias(op, "my_rms_norm", false), HasError(ErrorKind::kInput, "shows the name"));
  EXPECT_THAT(CheckAlias(op, "gemm", true), HasError(ErrorKind::kInput, "another operator"));
  const TempDir dir = *TempDir::Make("roofmark-alias");
  EXPECT_THAT(PackBundle(op, {.alias = "silu_and_mul"}, dir.path() / "b", kData),
              HasError(ErrorKind::kInput, "another operator"));
}

TEST(Alias, HidesTheNameOfEveryShippedOperator) {
  const TempDir dir = *TempDir::Make("roofmark-alias");
  const auto operators = suite::ReadOperators(kData / "operators");
  ASSERT_THAT(operators, IsOk());
  for (const auto& op : *operators) {
    const fs::path folder = dir.path() / op->name;
    ASSERT_THAT(PackBundle(*op, {.lane = Lane::kCuda, .alias = "zeta"}, folder, kData), IsOk());
    EXPECT_EQ(FindName(AllOf(folder), NamesBehind(*op)), std::nullopt) << op->name;
    EXPECT_TRUE(fs::exists(folder / "include/roofmark/zeta.h"));
    EXPECT_EQ(CheckBundle(folder, {.data = kData, .operator_folder = op->folder})->size(), 0u);
  }
}

TEST(Alias, IsRecordedInTheSidecarAlone) {
  const TempDir dir = *TempDir::Make("roofmark-alias");
  const auto packed = PackBundle(Rms(), {.alias = "zeta"}, dir.path() / "b", kData);
  ASSERT_THAT(packed, IsOk());
  const Json sidecar = *ReadJson(packed->sidecar);
  EXPECT_EQ(*sidecar.String("alias"), "zeta");
  EXPECT_EQ(*sidecar.String("operator"), "rms_norm");
  const auto findings = CheckBundle(packed->folder, {.data = kData});
  ASSERT_THAT(findings, IsOk());
  EXPECT_THAT(FindingText(findings->front()), HasSubstr("say of what with --operator"));
}

TEST(Alias, IsMissedWhereTheNameIsWrittenBackIn) {
  const TempDir dir = *TempDir::Make("roofmark-alias");
  const Operator op = Rms();
  ASSERT_THAT(PackBundle(op, {.alias = "zeta"}, dir.path() / "b", kData), IsOk());
  const fs::path readme = dir.path() / "b/README.md";
  ASSERT_THAT(WriteFile(readme, *ReadFile(readme) + "It is an RMSNorm.\n"), IsOk());
  const auto findings =
      CheckBundle(dir.path() / "b", {.data = kData, .operator_folder = op.folder});
  std::string all;
  for (const Finding& finding : *findings) all += FindingText(finding) + "\n";
  EXPECT_THAT(all, HasSubstr("names the operator behind the alias: 'RMSNorm'"));
}

TEST(OpenBundle, ReadsBackTheContractOfEveryShippedOperatorAndNothingElse) {
  const TempDir dir = *TempDir::Make("roofmark-alias");
  const auto operators = suite::ReadOperators(kData / "operators");
  for (const auto& op : *operators) {
    const fs::path folder = dir.path() / op->name;
    ASSERT_THAT(PackBundle(*op, {.lane = Lane::kTorch}, folder, kData), IsOk());
    const auto bundle = ReadBundle(folder);
    ASSERT_THAT(bundle, IsOk());
    EXPECT_EQ(bundle->lane, Lane::kTorch);
    EXPECT_EQ(bundle->op.name, op->name);
    EXPECT_EQ(bundle->op.inputs, op->inputs) << op->name;
    EXPECT_EQ(bundle->op.outputs, op->outputs) << op->name;
    EXPECT_EQ(bundle->op.tolerance, op->tolerance) << op->name;
    EXPECT_EQ(bundle->op.weight_published, 0);
    EXPECT_TRUE(bundle->op.work.empty());
    ASSERT_EQ(bundle->op.shapes.size(), op->shapes.size());
    for (size_t i = 0; i < op->shapes.size(); ++i) {
      EXPECT_FALSE(bundle->op.shapes[i].published.present);
      EXPECT_EQ(bundle->op.shapes[i].tier, op->shapes[i].tier);
      const auto workload = suite::MakeWorkload(bundle->op, bundle->op.shapes[i]);
      const auto want = suite::MakeWorkload(*op, op->shapes[i]);
      ASSERT_THAT(workload, IsOk());
      EXPECT_EQ(workload->axes, want->axes);
      EXPECT_EQ(workload->traffic.Total(), 0);
    }
  }
}

TEST(OpenBundle, RefusesWhatIsNone) {
  const TempDir dir = *TempDir::Make("roofmark-alias");
  EXPECT_THAT(ReadBundle(dir.path()), HasError(ErrorKind::kNotFound, "so this is no bundle"));
  ASSERT_THAT(WriteFile(dir.path() / "MANIFEST.json", R"({"format": "roofmark-bundle/1"})"),
              IsOk());
  EXPECT_THAT(ReadBundle(dir.path()), HasError(ErrorKind::kInput, "pack it again"));
}

}  // namespace
}  // namespace roofmark::pipeline
