// SPDX-License-Identifier: Apache-2.0
#include "exchange/write_operator.h"

#include "base/files.h"
#include "base/testing.h"
#include "suite/card.h"

namespace roofmark::exchange {
namespace {

Json Described() {
  return *Json::Parse(R"json({
    "card": {"name": "scale", "summary": "a \"quoted\"\nline", "source": "elsewhere",
             "axes": ["case", "rows"], "attributes": {"eps": 1e-06},
             "inputs": [{"name": "x", "dtype": "f32", "sizes": ["rows", 8]}],
             "outputs": [{"name": "y", "dtype": "f32", "sizes": []}],
             "traffic": {"read": "4*rows*8", "write": "4", "source": "by bytes"},
             "tolerance": {"y": {"kind": "numeric", "rtol": 0.0001, "atol_rms": 0.0001,
                                 "rel_l2": 0.0001}}},
    "about": {"kind": "kernelbench"},
    "shapes": [{"id": "0", "axes": {"case": 0, "rows": 3},
                "construct": {"args": [1], "kwargs": {}, "seed": 42}}],
    "copy": [["problem.py", "problem.py"]]})json");
}

class WriteOperatorTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(WriteFile(root() / "problem.py", "# a problem\n"), IsOk()); }
  fs::path root() const { return files_.path() / "source"; }
  fs::path out() const { return files_.path() / "operators"; }

  TempDir files_ = std::move(TempDir::Make("roofmark-test")).value();
};

TEST_F(WriteOperatorTest, WritesAFolderThatTheCardReaderAccepts) {
  fs::create_directories(root());
  ASSERT_THAT(WriteOperator(Described(), "scale", root(), out()), IsOk());
  const auto op = suite::ReadOperator(out() / "scale");
  ASSERT_THAT(op, IsOk());
  EXPECT_EQ(op->summary, "a \"quoted\" line");
  EXPECT_TRUE(op->work.empty());
  ASSERT_EQ(op->shapes.size(), 1);
  EXPECT_EQ(op->shapes[0].tier, Tier::kImported);
  EXPECT_EQ(op->shapes[0].construct.Find("seed")->as_int(), 42);
  EXPECT_TRUE(fs::exists(out() / "scale/origin/problem.py"));
}

TEST_F(WriteOperatorTest, LeavesNothingBehindWhereTheCardIsRefused) {
  Json described = Described();
  Json card = *described.Find("card");
  described.Set("card", card.Set("axes", Json::MakeArray().Push("case")));
  EXPECT_THAT(WriteOperator(described, "scale", root(), out()),
              HasError(ErrorKind::kInput, "rows"));
  EXPECT_FALSE(fs::exists(out() / "scale"));
}

TEST_F(WriteOperatorTest, DoesNotTouchAFolderThatWasNotImported) {
  ASSERT_THAT(WriteFile(out() / "scale/operator.toml", "name = \"mine\"\n"), IsOk());
  EXPECT_THAT(WriteOperator(Described(), "scale", root(), out()),
              HasError(ErrorKind::kInput, "was not imported"));
  EXPECT_TRUE(fs::exists(out() / "scale/operator.toml"));
}

TEST_F(WriteOperatorTest, TakesNoNameThatIsAPath) {
  EXPECT_THAT(WriteOperator(Described(), "../scale", root(), out()),
              HasError(ErrorKind::kInput, "cannot be a name"));
}

TEST_F(WriteOperatorTest, CopiesNothingFromOutsideTheSource) {
  ASSERT_THAT(WriteFile(files_.path() / "secret", "s"), IsOk());
  std::error_code error;
  fs::create_symlink(files_.path() / "secret", root() / "link", error);
  for (const char* from : {"../secret", "/etc/passwd", "link", ""}) {
    Json described = Described();
    described.Set("copy", Json::MakeArray().Push(Json::MakeArray().Push(from).Push("x")));
    EXPECT_THAT(WriteOperator(described, "scale", root(), out()),
                HasError(ErrorKind::kInput, "leaves the folder"))
        << from;
  }
}

TEST_F(WriteOperatorTest, ACandidateMayHaveFoldersButNotLeaveItsOwn) {
  CandidateFiles candidate{
      .name = "mine", .lane = "torch", .role = "candidate", .entry = "a/main.py::run"};
  candidate.files = *Json::Parse(R"([{"path": "a/main.py", "content": "def run(): pass\n"}])");
  EXPECT_THAT(WriteCandidate(candidate, files_.path() / "mine"), IsOk());
  candidate.files = *Json::Parse(R"([{"path": "../main.py", "content": "x"}])");
  EXPECT_THAT(WriteCandidate(candidate, files_.path() / "mine"),
              HasError(ErrorKind::kInput, "leaves the folder"));
}

}  // namespace
}  // namespace roofmark::exchange
