// SPDX-License-Identifier: Apache-2.0
#include "pipeline/release.h"

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "pipeline/pack.h"
#include "suite/card.h"
#include "suite/released_suite.h"

namespace roofmark::pipeline {
namespace {

using testing::HasSubstr;
using testing::Not;

const fs::path kData = ROOFMARK_SOURCE_DIR;

std::vector<std::unique_ptr<const Operator>> Operators() {
  std::vector<std::unique_ptr<const Operator>> operators;
  for (const char* name : {"rms_norm", "silu_and_mul"}) {
    operators.push_back(
        std::make_unique<const Operator>(*suite::ReadOperator(kData / "operators" / name)));
  }
  return operators;
}

suite::Suite Published(const suite::Selection& selection = {}) {
  return *suite::MakeSuite(Operators(), selection);
}

class AReleasedSuite : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(WriteRelease(Published(), {1, 2, 3}, folder_, kData), IsOk());
  }

  std::string Text(const std::string& path) { return *ReadFile(folder_ / path); }
  Json Manifest() { return *ReadJson(folder_ / "MANIFEST.json"); }
  std::string Findings() {
    const auto findings = CheckRelease(folder_, Operators(), kData);
    if (!findings) return findings.error().message();
    std::string list;
    for (const Finding& finding : *findings) list += FindingText(finding) + "\n";
    return list;
  }

  TempDir dir_ = *TempDir::Make("roofmark-release");
  fs::path folder_ = dir_.path() / "release";
};

TEST(ReleaseVersion, IsSemantic) {
  EXPECT_EQ(VersionText(*ParseVersion("1.0.12")), "1.0.12");
  EXPECT_LT(*ParseVersion("1.9.0"), *ParseVersion("1.10.0"));
  for (const char* text : {"", "1", "1.0", "1.0.0.0", "v1.0.0", "1.0.-1", "01.0.0", "1.0.0-rc1",
                           "1..0", "99999999999.0.0"}) {
    EXPECT_THAT(ParseVersion(text), HasError(ErrorKind::kInput, "no semantic version")) << text;
  }
}

TEST_F(AReleasedSuite, HoldsAPublicAndAHiddenPart) {
  for (const char* path :
       {"public/operators/rms_norm/contract.json", "public/operators/rms_norm/reference.py",
        "public/operators/rms_norm/shapes.jsonl", "public/include/roofmark/abi.h",
        "public/include/roofmark/silu_and_mul.h", "public/lanes/cuda.md", "hidden/weights.json",
        "hidden/workloads.jsonl", "hidden/operators/rms_norm/card.json",
        "hidden/operators/rms_norm/shapes.jsonl", "hidden/operators/rms_norm/variants.py"}) {
    EXPECT_TRUE(fs::exists(folder_ / path)) << path;
  }
  EXPECT_THAT(Text("public/operators/rms_norm/shapes.jsonl"), Not(HasSubstr("published\":")));
  EXPECT_THAT(Text("hidden/operators/rms_norm/shapes.jsonl"), HasSubstr("\"prod_us\""));
  EXPECT_THAT(Text("hidden/operators/rms_norm/card.json"), HasSubstr("tokens*(4*hidden + 1)"));
  EXPECT_EQ(Findings(), "");
}

TEST_F(AReleasedSuite, KeepsWeightsInOneFile) {
  EXPECT_THAT(Text("hidden/operators/rms_norm/card.json"), Not(HasSubstr("weight_published")));
  const Json weights = *ReadJson(folder_ / kWeightsFile);
  const suite::Suite suite = Published();
  ASSERT_EQ(weights.Find("workloads")->array().size(), suite.workloads.size());
  const Json& first = weights.Find("workloads")->array().front();
  EXPECT_EQ(*first.String("workload"), "rms_norm/0");
  EXPECT_EQ(*first.Double("value"), suite.workloads.front().weight.value);
  EXPECT_EQ(*first.String("label"), "assumed");
}

// As a suite of a fleet of two devices would be released, one workload drawn for others.
suite::Suite OfTwoDevices() {
  suite::Suite suite = Published({.operators = {"rms_norm"}, .tiers = {Tier::kPublished}});
  suite.name = "fleet";
  for (Workload& workload : suite.workloads) {
    workload.weight = {.value = 0.5,
                       .low = 0.4,
                       .high = 0.6,
                       .label = WeightLabel::kMined,
                       .provenance = "of a test"};
    workload.deployed_ns = 3000;
    workload.deployed_by_device = {{"NVIDIA H200", 2000}, {"NVIDIA B200", 5000}};
  }
  suite.draws[suite.workloads[1].Id()] = {.probability = 0.25, .stratum = "rms_norm/decode"};
  return suite;
}

TEST(AReleasedFleet, KeepsDeployedTimesOfEachDeviceAndHowItWasDrawn) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  const fs::path folder = dir.path() / "r";
  const suite::Suite suite = OfTwoDevices();
  ASSERT_THAT(WriteRelease(suite, {1, 0, 0}, folder, kData), IsOk());
  const auto read = suite::LoadReleasedSuite(folder, {});
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->name, "fleet 1.0.0");
  ASSERT_EQ(read->workloads.size(), suite.workloads.size());
  for (size_t i = 0; i < suite.workloads.size(); ++i) {
    EXPECT_EQ(read->workloads[i].Id(), suite.workloads[i].Id());
    EXPECT_EQ(read->workloads[i].weight.value, 0.5);
    EXPECT_EQ(read->workloads[i].weight.label, WeightLabel::kMined);
    EXPECT_EQ(read->workloads[i].weight.provenance, "of a test");
    EXPECT_EQ(read->workloads[i].deployed_ns, 3000);
    EXPECT_EQ(read->workloads[i].deployed_by_device, suite.workloads[i].deployed_by_device);
  }
  ASSERT_EQ(read->draws.size(), 1U);
  EXPECT_EQ(read->draws.at(suite.workloads[1].Id()).probability, 0.25);
  const auto one = suite::LoadReleasedSuite(folder, {.shapes = {suite.workloads[0].Id()}});
  ASSERT_THAT(one, IsOk());
  EXPECT_EQ(one->workloads.size(), 1U);
}

// Version 1 of the weights had one deployed time for all devices, and says so when it is read.
TEST(AReleasedFleet, IsReadInItsOldFormToo) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  const fs::path folder = dir.path() / "r";
  ASSERT_THAT(WriteRelease(OfTwoDevices(), {1, 0, 0}, folder, kData), IsOk());
  Json weights = *ReadJson(folder / kWeightsFile);
  weights.Set("format", "roofmark-weights/1");
  Json rows = Json::MakeArray();
  for (Json row : weights.Find("workloads")->array()) {
    std::erase_if(row.object(), [](const Json::Member& member) {
      return member.first == "deployed_ns_by_device" || member.first == "selection";
    });
    rows.Push(std::move(row));
  }
  weights.Set("workloads", std::move(rows));
  ASSERT_THAT(WriteFile(folder / kWeightsFile, weights.Dump(1)), IsOk());
  const auto read = suite::LoadReleasedSuite(folder, {});
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->workloads[0].deployed_ns, 3000);
  EXPECT_TRUE(read->workloads[0].deployed_by_device.empty());
  EXPECT_THAT(read->workloads[0].weight.provenance, HasSubstr("mean over all devices"));
  EXPECT_TRUE(read->draws.empty());
}

TEST(AReleasedFleet, RefusesWhatItCannotBeWeighedBy) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  const fs::path folder = dir.path() / "r";
  ASSERT_THAT(WriteRelease(OfTwoDevices(), {1, 0, 0}, folder, kData), IsOk());
  const std::string weights = *ReadFile(folder / kWeightsFile);
  const std::string workloads = *ReadFile(folder / kWorkloadsFile);
  const auto with = [&](std::string text, const std::string& from, const std::string& to,
                        std::string_view file) {
    EXPECT_NE(text.find(from), std::string::npos) << from;
    text.replace(text.find(from), from.size(), to);
    EXPECT_THAT(WriteFile(folder / file, text), IsOk());
    const auto read = suite::LoadReleasedSuite(folder, {});
    EXPECT_THAT(WriteFile(folder / kWeightsFile, weights), IsOk());
    EXPECT_THAT(WriteFile(folder / kWorkloadsFile, workloads), IsOk());
    return read ? std::string("was read") : read.error().message();
  };
  EXPECT_THAT(with(weights, "roofmark-weights/2", "roofmark-weights/9", kWeightsFile),
              HasSubstr("neither roofmark-weights/2 nor roofmark-weights/1"));
  EXPECT_THAT(with(weights, "\"mined\"", "\"guessed\"", kWeightsFile), HasSubstr("'guessed'"));
  EXPECT_THAT(with(weights, "\"low\": 0.4", "\"low\": 0.9", kWeightsFile),
              HasSubstr("workload 1, rms_norm/"));
  EXPECT_THAT(with(weights, "0.25", "1.25", kWeightsFile), HasSubstr("probability"));
  EXPECT_THAT(with(workloads, "\"tokens\": 2500", "\"tokens\": 2501", kWorkloadsFile),
              HasSubstr("another shape"));
  EXPECT_THAT(with(workloads, "rms_norm/", "nobodys/", kWorkloadsFile),
              HasSubstr("no card of operator 'nobodys'"));
  fs::remove_all(folder / "hidden");
  EXPECT_THAT(suite::LoadReleasedSuite(folder, {}), HasError(ErrorKind::kNotFound, "hidden part"));
}

TEST_F(AReleasedSuite, StatesTheHashOfEveryFileAndOfBothParts) {
  const Json manifest = Manifest();
  std::string lines;
  size_t files = 0;
  for (const auto& [path, hash] : manifest.Find("files")->object()) {
    EXPECT_EQ(hash.as_string(), Sha256Hex(Text(path))) << path;
    if (path.starts_with("public/")) lines += hash.as_string() + "  " + path + "\n";
    ++files;
  }
  EXPECT_EQ(*manifest.String("public_sha256"), Sha256Hex(lines));
  size_t there = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_)) {
    there += entry.is_regular_file() ? 1 : 0;
  }
  EXPECT_EQ(files + 1, there);
  EXPECT_EQ(*manifest.String("version"), "1.2.3");
}

TEST_F(AReleasedSuite, IsTheSameWhenItIsMadeAgain) {
  const auto again = WriteRelease(Published(), {1, 2, 3}, dir_.path() / "again", kData);
  ASSERT_THAT(again, IsOk());
  EXPECT_EQ(again->public_sha256, ReadRelease(folder_)->public_sha256);
}

TEST_F(AReleasedSuite, RefreshesItsWeightsAlone) {
  const Json before = Manifest();
  suite::Suite suite = Published({.tiers = {Tier::kPublished}});
  suite.name = "fleet";
  for (Workload& workload : suite.workloads) workload.weight = {.value = 0.5, .provenance = "new"};
  const auto refreshed = RefreshWeights(suite, {1, 2, 4}, folder_);
  ASSERT_THAT(refreshed, IsOk());
  EXPECT_EQ(refreshed->without_weight, Published().workloads.size() - suite.workloads.size());
  const Json after = Manifest();
  EXPECT_EQ(*after.String("version"), "1.2.4");
  EXPECT_EQ(*after.String("contents_since"), "1.2.3");
  EXPECT_EQ(*after.String("public_sha256"), *before.String("public_sha256"));
  for (const auto& [path, hash] : before.Find("files")->object()) {
    if (path == kWeightsFile) {
      EXPECT_NE(after.Find("files")->Find(path)->as_string(), hash.as_string());
    } else {
      EXPECT_EQ(after.Find("files")->Find(path)->as_string(), hash.as_string()) << path;
    }
  }
  EXPECT_THAT(Text(std::string(kWeightsFile)), HasSubstr("not in the suite fleet"));
  EXPECT_EQ(Findings(), "");
}

TEST_F(AReleasedSuite, TakesNoOtherVersionForFreshWeights) {
  for (const Version version :
       {Version{1, 2, 3}, Version{1, 2, 2}, Version{1, 3, 0}, Version{2, 2, 4}}) {
    EXPECT_THAT(RefreshWeights(Published(), version, folder_),
                HasError(ErrorKind::kInput, "is no later patch of 1.2.3"));
  }
}

TEST_F(AReleasedSuite, TakesNoWeightOfAWorkloadThatItHasNot) {
  suite::Suite suite = Published();
  suite.workloads.front().shape.id = "another";
  EXPECT_THAT(RefreshWeights(suite, {1, 2, 4}, folder_),
              HasError(ErrorKind::kInput, "has no workload rms_norm/another"));
}

TEST_F(AReleasedSuite, ShowsWhatWasChangedAfterwards) {
  ASSERT_THAT(WriteFile(folder_ / "public/operators/rms_norm/reference.py", "# 9.95 us\n"), IsOk());
  ASSERT_THAT(WriteFile(folder_ / "public/notes.txt", "hello\n"), IsOk());
  fs::remove(folder_ / "public/lanes/cpp.md");
  EXPECT_EQ(
      Findings(),
      "public/lanes/cpp.md: is missing\n"
      "public/operators/rms_norm/reference.py: is not the file whose hash the manifest holds\n"
      "public/notes.txt: is no file of the release\n"
      "public/operators/rms_norm/reference.py:1: 9.95 gives away rms_norm/0 prod_us XPU-A\n"
      "public/operators/rms_norm/reference.py:1: states a time: '9.95 us'\n");
  EXPECT_THAT(RefreshWeights(Published(), {1, 2, 4}, folder_),
              HasError(ErrorKind::kInput, "is not what was released"));
}

TEST_F(AReleasedSuite, CanBeCheckedWithoutItsHiddenPart) {
  fs::remove_all(folder_ / "hidden");
  EXPECT_EQ(Findings(), "");
  EXPECT_THAT(RefreshWeights(Published(), {1, 2, 4}, folder_),
              HasError(ErrorKind::kNotFound, "the hidden part is not here"));
}

TEST_F(AReleasedSuite, RefusesAManifestThatLeadsElsewhereOrLies) {
  const std::string text = Text("MANIFEST.json");
  const std::string hash = *Manifest().String("public_sha256");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    EXPECT_THAT(
        WriteFile(folder_ / "MANIFEST.json", changed.replace(changed.find(from), from.size(), to)),
        IsOk());
    return Findings();
  };
  EXPECT_THAT(with("public/lanes/cpp.md", "public/../../cpp.md"),
              HasSubstr("is no file of a release"));
  EXPECT_THAT(with(hash, std::string(64, '0')), HasSubstr("public_sha256 is not the hash"));
  EXPECT_THAT(with("roofmark-release/1", "roofmark-release/9"), HasSubstr("is not of format"));
  EXPECT_THAT(ReadRelease(dir_.path()), HasError(ErrorKind::kNotFound, "so this is no release"));
}

TEST_F(AReleasedSuite, LeavesAFolderAloneThatHoldsSomething) {
  EXPECT_THAT(WriteRelease(Published(), {1, 3, 0}, folder_, kData),
              HasError(ErrorKind::kInput, "is there already"));
  EXPECT_EQ(ReadRelease(folder_)->version, (Version{1, 2, 3}));
}

TEST(Release, OfAllShippedOperatorsIsFoundAsItWasWritten) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  const auto operators = [] { return *suite::ReadOperators(kData / "operators"); };
  for (const Tier tier : {Tier::kPublished, Tier::kCorrected}) {
    const suite::Suite suite = *suite::MakeSuite(operators(), {.tiers = {tier}});
    const fs::path folder = dir.path() / std::string(TierName(tier));
    ASSERT_THAT(WriteRelease(suite, {1, 0, 0}, folder, kData), IsOk());
    const auto findings = CheckRelease(folder, operators(), kData);
    ASSERT_THAT(findings, IsOk());
    for (const Finding& finding : *findings) ADD_FAILURE() << FindingText(finding);
  }
}

TEST(Release, KeepsHiddenShapesInTheHiddenPart) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  fs::copy(kData / "operators/rms_norm", dir.path() / "rms_norm", fs::copy_options::recursive);
  const fs::path shapes = dir.path() / "rms_norm/shapes.jsonl";
  ASSERT_THAT(WriteFile(shapes, *ReadFile(shapes) +
                                    R"({"id": "held-back", "tier": "small", "phase": "decode", )"
                                    R"("hidden": true, "axes": {"tokens": 77, "hidden": 555}})"),
              IsOk());
  const suite::Suite suite = *suite::MakeSuite(*suite::ReadOperators(dir.path()), {});
  ASSERT_THAT(WriteRelease(suite, {1, 0, 0}, dir.path() / "r", kData), IsOk());
  const auto text = [&](const char* path) { return *ReadFile(dir.path() / "r" / path); };
  EXPECT_THAT(text("public/operators/rms_norm/shapes.jsonl"), Not(HasSubstr("held-back")));
  EXPECT_THAT(text("hidden/workloads.jsonl"), HasSubstr("rms_norm/held-back"));
  EXPECT_THAT(text("hidden/weights.json"), HasSubstr("rms_norm/held-back"));
}

TEST_F(AReleasedSuite, AnOperatorThatIsNotKnownHereIsAFinding) {
  const auto findings = CheckRelease(folder_, {}, kData);
  ASSERT_THAT(findings, IsOk());
  ASSERT_FALSE(findings->empty());
  EXPECT_THAT(FindingText(findings->front()), HasSubstr("is not known here"));
}

TEST(Release, AndBundlesLeaveImportedOperatorsOut) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  fs::create_directories(dir.path() / "ops");
  fs::copy(kData / "operators/rms_norm", dir.path() / "ops/rms_norm", fs::copy_options::recursive);
  ASSERT_THAT(WriteFile(dir.path() / "ops/rms_norm/import.json", "{}"), IsOk());
  const suite::Suite suite = *suite::MakeSuite(*suite::ReadOperators(dir.path() / "ops"), {});
  EXPECT_THAT(WriteRelease(suite, {1, 0, 0}, dir.path() / "r", kData),
              HasError(ErrorKind::kInput, "imported operator"));
}

TEST(Release, IsRefusedWhereTheReferenceLeaksOrNothingIsSelected) {
  const TempDir dir = *TempDir::Make("roofmark-release");
  fs::create_directories(dir.path() / "ops");
  fs::copy(kData / "operators/rms_norm", dir.path() / "ops/rms_norm", fs::copy_options::recursive);
  const fs::path reference = dir.path() / "ops/rms_norm/reference.py";
  ASSERT_THAT(WriteFile(reference, *ReadFile(reference) + "# production needs 9.95 us\n"), IsOk());
  suite::Suite suite = *suite::MakeSuite(*suite::ReadOperators(dir.path() / "ops"), {});
  EXPECT_THAT(WriteRelease(suite, {1, 0, 0}, dir.path() / "r", kData),
              HasError(ErrorKind::kInput, "states a time: '9.95 us'"));
  EXPECT_FALSE(fs::exists(dir.path() / "r"));
  suite.workloads.clear();
  EXPECT_THAT(WriteRelease(suite, {1, 0, 0}, dir.path() / "r", kData),
              HasError(ErrorKind::kInput, "has no workload"));
}

}  // namespace
}  // namespace roofmark::pipeline
