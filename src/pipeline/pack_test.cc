// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pack.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "pipeline/pack_check.h"
#include "pipeline/pack_parts_internal.h"
#include "suite/card.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

const fs::path kData = ROOFMARK_SOURCE_DIR;

Operator Rms() {
  return *suite::ReadOperator(kData / "operators/rms_norm");
}

std::string ListOf(const std::vector<Finding>& findings) {
  std::string list;
  for (const Finding& finding : findings) list += FindingText(finding) + "\n";
  return list;
}

// A fresh bundle to spoil.
class PlantedLeak : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(PackBundle(Rms(), {.lane = Lane::kCpp}, bundle_, kData), IsOk());
  }

  std::vector<Finding> Check() { return *CheckBundle(bundle_, {.data = kData}); }

  // Appends a line to a file of the bundle and returns its number.
  size_t Append(const std::string& file, const std::string& line) {
    std::string text = *ReadFile(bundle_ / file) + line + "\n";
    EXPECT_THAT(WriteFile(bundle_ / file, text), IsOk());
    return static_cast<size_t>(std::ranges::count(text, '\n'));
  }

  // True when the check names the file, the line and the reason.
  bool Finds(const std::string& file, size_t line, const std::string& what) {
    const std::vector<Finding> findings = Check();
    const bool found = std::ranges::any_of(findings, [&](const Finding& finding) {
      return finding.file == file && finding.line == line &&
             finding.what.find(what) != std::string::npos;
    });
    if (!found)
      ADD_FAILURE() << file << ":" << line << " " << what << " not in:\n" << ListOf(findings);
    return found;
  }

  bool FindsLine(const std::string& line, const std::string& what) {
    return Finds("reference.py", Append("reference.py", line), what);
  }

  TempDir dir_ = *TempDir::Make("roofmark-pack");
  fs::path bundle_ = dir_.path() / "bundle";
};

TEST(Pack, WritesABundleOfEveryOperatorAndLaneThatPassesItsCheck) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  const auto operators = suite::ReadOperators(kData / "operators");
  ASSERT_THAT(operators, IsOk());
  for (const auto& op : *operators) {
    for (const Lane lane : {Lane::kCpp, Lane::kCuda, Lane::kTriton, Lane::kGluon, Lane::kCuteDsl,
                            Lane::kTileLang, Lane::kFlyDsl, Lane::kTorch}) {
      const fs::path folder = dir.path() / fmt::format("{}-{}", op->name, LaneName(lane));
      ASSERT_THAT(PackBundle(*op, {.lane = lane}, folder, kData), IsOk());
      EXPECT_EQ(ListOf(*CheckBundle(folder, {.data = kData})), "");
    }
  }
}

TEST(Pack, HoldsTheReferenceTheContractTheShapesAndTheRules) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  const auto packed = PackBundle(Rms(), {.lane = Lane::kCpp}, dir.path() / "b", kData);
  ASSERT_THAT(packed, IsOk());
  for (const char* file : {"README.md", "contract.json", "shapes.jsonl", "reference.py", "rules.md",
                           "include/roofmark/abi.h", "include/roofmark/rms_norm.h"}) {
    EXPECT_TRUE(fs::exists(packed->folder / file)) << file;
  }
  EXPECT_EQ(*ReadFile(packed->folder / "reference.py"),
            *ReadFile(kData / "operators/rms_norm/reference.py"));
  const auto shapes = ReadJsonLines(packed->folder / "shapes.jsonl");
  ASSERT_THAT(shapes, IsOk());
  EXPECT_EQ(shapes->size(), Rms().shapes.size());
  EXPECT_THAT(shapes->front().AllowKeys({"id", "tier", "phase", "axes"}), IsOk());
}

TEST(Pack, GivesPythonLanesNoHeaderAndOperatorsTheModulesTheirReferenceImports) {
  const Operator mm = *suite::ReadOperator(kData / "operators/block_scaled_mm");
  const auto files = MakeBundle(mm, {.lane = Lane::kTriton, .canary = "x"}, kData);
  ASSERT_THAT(files, IsOk());
  std::vector<std::string> paths;
  for (const BundleFile& file : *files) paths.push_back(file.path);
  EXPECT_THAT(paths, testing::IsSupersetOf({"roofmark_ref/__init__.py", "roofmark_ref/fp8.py"}));
  EXPECT_THAT(paths, testing::Not(testing::Contains(testing::StartsWith("include/"))));
}

TEST(Pack, BringsTheModulesOfEveryFormOfImport) {
  for (const char* line : {"from roofmark_ref import fp8", "from roofmark_ref.fp8 import decode",
                           "import roofmark_ref.fp8 as codes"}) {
    const auto files = ImportedModules(fmt::format("import torch\n{}\n", line));
    ASSERT_THAT(files, IsOk());
    ASSERT_EQ(files->size(), 2u) << line;
    EXPECT_EQ((*files)[1].path, "roofmark_ref/fp8.py");
  }
  EXPECT_THAT(ImportedModules("from roofmark_ref import secrets\n"),
              HasError(ErrorKind::kInput, "roofmark_ref/secrets.py"));
  EXPECT_EQ(ImportedModules("import torch  # not roofmark_ref\n")->size(), 0u);
}

TEST(Pack, LeavesHiddenShapesOutAndFindsThemWhereTheyAreNamed) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  for (const char* part : {"operators/rms_norm", "examples/lanes", "devices"}) {
    fs::create_directories(dir.path() / part);
    fs::copy(kData / part, dir.path() / part, fs::copy_options::recursive);
  }
  const fs::path shapes = dir.path() / "operators/rms_norm/shapes.jsonl";
  ASSERT_THAT(WriteFile(shapes, *ReadFile(shapes) +
                                    R"({"id": "held-back", "tier": "small", "phase": "decode", )"
                                    R"("hidden": true, "axes": {"tokens": 77, "hidden": 555}})"),
              IsOk());
  const Operator op = *suite::ReadOperator(dir.path() / "operators/rms_norm");
  EXPECT_TRUE(op.shapes.back().hidden);
  ASSERT_THAT(PackBundle(op, {.lane = Lane::kCpp}, dir.path() / "b", dir.path()), IsOk());
  EXPECT_EQ(ReadFile(dir.path() / "b/shapes.jsonl")->find("held-back"), std::string::npos);
  const fs::path readme = dir.path() / "b/README.md";
  ASSERT_THAT(WriteFile(readme, *ReadFile(readme) + "try held-back too\n"), IsOk());
  EXPECT_THAT(ListOf(*CheckBundle(dir.path() / "b", {.data = dir.path()})),
              testing::HasSubstr("names a hidden source or shape: 'held-back'"));
}

TEST(Pack, ReducesTheCardToWhatACallerMustKnow) {
  const Json card = ReducedCard(Rms());
  EXPECT_THAT(card.AllowKeys({"name", "summary", "axes", "derived", "attributes", "inputs",
                              "outputs", "tolerance"}),
              IsOk());
  EXPECT_EQ(*card.Find("tolerance")->Find("out")->Double("rtol"), 0.0157);
}

TEST(Pack, KeepsTheCanaryInASidecarOutsideTheBundle) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  const auto packed = PackBundle(Rms(), {.lane = Lane::kTorch}, dir.path() / "b/", kData);
  ASSERT_THAT(packed, IsOk());
  const auto sidecar = ReadJson(dir.path() / "b.canary.json");
  ASSERT_THAT(sidecar, IsOk());
  EXPECT_EQ(*sidecar->String("canary"), packed->canary);
  EXPECT_EQ(*sidecar->String("manifest_sha256"),
            Sha256Hex(*ReadFile(packed->folder / "MANIFEST.json")));
  EXPECT_NE(ReadFile(packed->folder / "README.md")->find(packed->canary), std::string::npos);
  const auto other = PackBundle(Rms(), {.lane = Lane::kTorch}, dir.path() / "c", kData);
  EXPECT_NE(other->canary, packed->canary);
}

TEST(Pack, LeavesAFolderAloneThatHoldsSomething) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  ASSERT_THAT(WriteFile(dir.path() / "b/mine.txt", "mine"), IsOk());
  EXPECT_THAT(PackBundle(Rms(), {.lane = Lane::kCpp}, dir.path() / "b", kData),
              HasError(ErrorKind::kInput, "is there already"));
  EXPECT_EQ(ListFolder(dir.path())->size(), 1u);
}

// A copy of the data whose reference tells a secret that no rewriting of the card can remove.
TEST(Pack, WritesNothingWhenTheReferenceItselfLeaks) {
  const TempDir dir = *TempDir::Make("roofmark-pack");
  for (const char* part : {"operators/rms_norm", "examples/lanes", "devices"}) {
    fs::create_directories(dir.path() / part);
    fs::copy(kData / part, dir.path() / part, fs::copy_options::recursive);
  }
  const fs::path reference = dir.path() / "operators/rms_norm/reference.py";
  ASSERT_THAT(WriteFile(reference, *ReadFile(reference) + "# production needs 9.95 us\n"), IsOk());
  const Operator op = *suite::ReadOperator(dir.path() / "operators/rms_norm");
  EXPECT_THAT(PackBundle(op, {.lane = Lane::kCpp}, dir.path() / "b", dir.path()),
              HasError(ErrorKind::kInput, "states a time: '9.95 us'"));
  EXPECT_FALSE(fs::exists(dir.path() / "b"));
  EXPECT_FALSE(fs::exists(dir.path() / "b.canary.json"));
}

TEST_F(PlantedLeak, NoneInAFreshBundle) {
  EXPECT_EQ(ListOf(Check()), "");
}

TEST_F(PlantedLeak, HiddenKeysInAnyFile) {
  FindsLine("# the roofline says", "names a hidden fact: 'roofline'");
  FindsLine("sol_us = 1", "names a hidden fact: 'sol_us'");
  FindsLine("work = 5", "names a hidden fact: 'work'");
  FindsLine("[traffic]", "names a hidden fact: 'traffic'");
  FindsLine("{\"call-count\": 5}", "names a hidden fact: 'call-count'");
  FindsLine("# far from the speed of light", "names a hidden fact");
  FindsLine("WEIGHT_PUBLISHED", "names a hidden fact");
  FindsLine("prodUs: 7", "names a hidden fact: 'prodUs'");
  FindsLine("# provenance: a fleet", "names a hidden fact: 'provenance'");
  FindsLine("# seeds 1, 2", "names a hidden fact: 'seeds'");
}

TEST_F(PlantedLeak, WordsOfProseAreNoKeys) {
  const size_t line = Append("reference.py", "# this does the work, whatever the traffic == load");
  for (const Finding& finding : Check()) {
    EXPECT_TRUE(finding.line != line || finding.what == "is not what pack writes")
        << FindingText(finding);
  }
}

TEST_F(PlantedLeak, HiddenFiguresInAnyNotation) {
  const std::string work = "gives away rms_norm/0";
  FindsLine("# 7682500", work);
  FindsLine("# 7,682,500", work);
  FindsLine("# 7_682_500", work);
  FindsLine("# 7 682 500", work);
  FindsLine("# 7.6825e6", work);
  FindsLine("# 7.6825 MFLOP", work);
  FindsLine("# 1.932462", work);
  FindsLine("# 1.9325", work);
  FindsLine("# 1932.462", work);
  FindsLine("# 9.95", work);
  FindsLine("x5122048 = 0", work);
  FindsLine("# 0.025127", "gives away rms_norm weight");
  FindsLine("# 2.5127 %", "gives away rms_norm weight");
}

TEST_F(PlantedLeak, FiguresThatOnlyOurFormulasKnow) {
  // W of shape 0: 2500 * (4 * 1024 + 1); bytes moved of c-decode-b1-h4096: 3 * 2 * 4096.
  FindsLine("# 10242500", "gives away rms_norm/0 W vector_f32");
  FindsLine("# 10.2425", "gives away rms_norm/0 W vector_f32");
  // Q over the memory rate of H200 (4.8 TB/s): 10242048 B / 4.8e12 B/s.
  FindsLine("# 2133.76", "gives away rms_norm/0 SOL time on H200");
}

TEST_F(PlantedLeak, SizesOfShapesAreNoFigures) {
  const size_t line = Append("reference.py", "# rows: 2500, 32768, 16384; 0.0157; 1e-6");
  for (const Finding& finding : Check()) {
    EXPECT_TRUE(finding.line != line || finding.what == "is not what pack writes")
        << FindingText(finding);
  }
}

TEST_F(PlantedLeak, TimesWithTheirUnit) {
  FindsLine("# takes 12 us", "states a time: '12 us'");
  FindsLine("# takes 3\xC2\xB5s", "states a time");
  FindsLine("# takes 40ms.", "states a time: '40ms'");
}

TEST_F(PlantedLeak, SourcesAndFormulas) {
  FindsLine("# tokens * (4*hidden+1)", "holds a hidden formula or source");
  FindsLine("# as vLLM's kernel", "names a hidden source or shape: 'vLLM'");
  FindsLine("# from aiter", "names a hidden source or shape: 'aiter'");
}

TEST_F(PlantedLeak, PlacesAndPeople) {
  FindsLine("# see /home/someone/kernels", "holds a path of a machine: '/home/...'");
  FindsLine("p = '/tmp'", "holds a path of a machine: '/tmp/...'");
  FindsLine("p = \"C:\\\\Users\"", "a drive letter");
  FindsLine("p = '~/x'", "'~/...'");
  char host[256] = {};
  ASSERT_EQ(::gethostname(host, sizeof(host) - 1), 0);
  if (std::string(host).size() >= 4 && std::string(host) != "localhost") {
    FindsLine(fmt::format("# made on {}", host), "names this machine or its user");
  }
}

TEST_F(PlantedLeak, ValuesOfThisEnvironment) {
  ::setenv("SOME_API_KEY", "q7w8e9r0t1", 1);
  ::setenv("VIRTUAL_ENV", "some-place/venv", 1);
  FindsLine("# q7w8e9r0t1", "holds the value of this environment's SOME_API_KEY");
  FindsLine("# in some-place/venv", "holds the value of this environment's VIRTUAL_ENV");
  ::unsetenv("SOME_API_KEY");
  ::unsetenv("VIRTUAL_ENV");
}

TEST_F(PlantedLeak, FilesThatDoNotBelong) {
  ASSERT_THAT(WriteFile(bundle_ / "notes.txt", "hello\n"), IsOk());
  ASSERT_THAT(WriteFile(bundle_ / "roofline.txt", "hello\n"), IsOk());
  ASSERT_THAT(WriteFile(bundle_ / ".git/HEAD", "ref\n"), IsOk());
  ASSERT_THAT(WriteFile(bundle_ / "blob", std::string("a\0b", 3)), IsOk());
  fs::create_symlink(kData / "operators", bundle_ / "link");
  fs::create_directory(bundle_ / "empty");
  Finds("notes.txt", 0, "is no file of a bundle");
  Finds("roofline.txt", 0, "its name names a hidden fact: 'roofline'");
  Finds(".git", 0, "version history");
  ASSERT_THAT(WriteFile(bundle_ / "bare/HEAD", "ref\n"), IsOk());
  fs::create_directories(bundle_ / "bare/objects");
  Finds("bare", 0, "version history");
  Finds("blob", 0, "is not text");
  Finds("link", 0, "is a symbolic link");
  Finds("empty", 0, "is an empty folder");
}

TEST_F(PlantedLeak, ReleasedFiguresLeftInTheShapes) {
  const size_t line = Append("shapes.jsonl", R"({"id": "x", "published": {"sol_us": 1}})");
  Finds("shapes.jsonl", line, "names a hidden fact: 'published'");
  Finds("shapes.jsonl", line, "is not what pack writes");
  Finds("shapes.jsonl", 0, "is not the file whose hash the manifest holds");
}

// Whoever spoils a file can also repair the manifest; the comparison does not rest on it.
TEST_F(PlantedLeak, ChangesBehindAMatchingHash) {
  const std::string old_text = *ReadFile(bundle_ / "rules.md");
  const size_t line = Append("rules.md", "Aim for half.");
  std::string manifest = *ReadFile(bundle_ / "MANIFEST.json");
  const std::string old_hash = Sha256Hex(old_text);
  manifest.replace(manifest.find(old_hash), old_hash.size(),
                   Sha256Hex(*ReadFile(bundle_ / "rules.md")));
  ASSERT_THAT(WriteFile(bundle_ / "MANIFEST.json", manifest), IsOk());
  Finds("rules.md", line, "is not what pack writes");
}

TEST_F(PlantedLeak, BundlesThatCannotBeChecked) {
  fs::remove(bundle_ / "rules.md");
  Finds("rules.md", 0, "is missing");
  std::string manifest = *ReadFile(bundle_ / "MANIFEST.json");
  const size_t at = manifest.find("\"rms_norm\"");
  manifest.replace(at, 10, "\"../secret\"");
  ASSERT_THAT(WriteFile(bundle_ / "MANIFEST.json", manifest), IsOk());
  Finds("MANIFEST.json", 0, "its operator '../secret' is unknown here");
  ASSERT_THAT(WriteFile(bundle_ / "MANIFEST.json", "{}"), IsOk());
  Finds("MANIFEST.json", 0, "'format'");
  fs::remove(bundle_ / "MANIFEST.json");
  Finds("MANIFEST.json", 0, "so this is no bundle");
  EXPECT_THAT(CheckBundle(bundle_ / "nowhere", {.data = kData}),
              HasError(ErrorKind::kNotFound, "nowhere"));
}

}  // namespace
}  // namespace roofmark::pipeline
