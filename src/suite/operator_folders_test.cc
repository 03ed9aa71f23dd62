// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/testing.h"
#include "suite/suite.h"

namespace roofmark::suite {
namespace {

constexpr const char* kCard = R"(name = "twice"
summary = "out = 2 * x"
source = "a test"
axes = { n = "int" }
traffic = { read = "4*n", write = "4*n", source = "x once, out once" }
inputs = [{ name = "x", dtype = "f32", shape = ["n"] }]
outputs = [{ name = "out", dtype = "f32", shape = ["n"] }]
tolerance = { out = { kind = "exact" } }
)";
constexpr const char* kShapes =
    R"({"id": "s-8", "tier": "small", "phase": "unknown", "axes": {"n": 8}})";

class OperatorFolders : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_THAT(WriteFile(dir_.path() / "mine/twice/operator.toml", kCard), IsOk());
    ASSERT_THAT(WriteFile(dir_.path() / "mine/twice/shapes.jsonl", kShapes), IsOk());
  }
  void TearDown() override { ::unsetenv("ROOFMARK_OPERATORS"); }
  void Name(const std::string& folders) { ::setenv("ROOFMARK_OPERATORS", folders.c_str(), 1); }

  TempDir dir_ = *TempDir::Make("roofmark-operators");
};

TEST_F(OperatorFolders, AreReadBesideTheShippedOnes) {
  ASSERT_THAT(LoadSuite({.operators = {"twice"}}), HasError(ErrorKind::kNotFound, "'twice'"));
  Name(fmt::format(":{}:", (dir_.path() / "mine").string()));
  const auto suite = LoadSuite({.operators = {"twice"}});
  ASSERT_THAT(suite, IsOk());
  ASSERT_EQ(suite->workloads.size(), 1u);
  EXPECT_EQ(suite->workloads[0].traffic.Total(), 64);
  EXPECT_NE(suite->FindOperator("rms_norm"), nullptr);
}

TEST_F(OperatorFolders, MayNotHoldOneNameTwice) {
  fs::copy(dir_.path() / "mine", dir_.path() / "other", fs::copy_options::recursive);
  Name(fmt::format("{0}/mine:{0}/other", dir_.path().string()));
  EXPECT_THAT(LoadSuite(), HasError(ErrorKind::kInput, "mine/twice and "));
  EXPECT_THAT(LoadSuite(), HasError(ErrorKind::kInput, "hold operators of one name"));
}

TEST_F(OperatorFolders, MustExistAndHoldAnOperator) {
  Name((dir_.path() / "nowhere").string());
  EXPECT_THAT(LoadSuite(), HasError(ErrorKind::kNotFound, "nowhere, which is no folder"));
  Name(dir_.path().string());
  EXPECT_THAT(LoadSuite(), HasError(ErrorKind::kNotFound, "no folder in it holds an operator"));
}

}  // namespace
}  // namespace roofmark::suite
