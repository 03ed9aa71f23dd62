// SPDX-License-Identifier: Apache-2.0
// Admission tests on the CPU, with an operator made for it.
#include "pipeline/lint_suite.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/testing.h"
#include "suite/card.h"
#include "suite/make_workload.h"

namespace roofmark::pipeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kCard = R"(name = "double"
summary = "out = 2 x"
source = "a test"
[axes]
n = "int"
[[inputs]]
name = "x"
dtype = "f32"
shape = ["n"]
[[outputs]]
name = "out"
dtype = "f32"
shape = ["n"]
[traffic]
read = "4*n"
write = "4*n"
source = "each element once"
[tolerance.out]
kind = "numeric"
rtol = 0.001
atol_rms = 0.001
rel_l2 = 0.001
)";

constexpr std::string_view kReference = R"(import torch
def inputs(shape, seed, regime, device):
    gen = torch.Generator(device=device).manual_seed(seed)
    return {"x": torch.randn(shape["n"], generator=gen, device=device)}
def reference(shape, x):
    return {"out": 2 * x}
)";

constexpr std::string_view kVariants = R"(import torch
ALL = ("typical", "heavy_tail", "offset")
def exact(shape, x):
    return {"out": x + x}
def zeros(shape, x):
    return {"out": torch.zeros_like(x)}
def eats_its_input(shape, x):
    x.zero_()
    return {"out": x}
HONEST = {"sum": exact}
WRONG = {"zeros": (zeros, ALL), "eats its input": (eats_its_input, ALL),
         "not for this shape": (lambda shape, x: None, ALL)}
)";

// An operator folder in a temporary place, and what lint finds of its one workload.
class LintSuiteTest : public testing::Test {
 protected:
  LintSuiteTest() : dir_(*TempDir::Make("roofmark-lint")) {
    fs::create_directories(Folder());
    Write("operator.toml", kCard);
    Write("reference.py", kReference);
    Write("variants.py", kVariants);
    Write("shapes.jsonl", R"({"id": "s", "tier": "small", "phase": "decode", "axes": {"n": 100}})"
                          "\n");
  }
  fs::path Folder() const { return dir_.path() / "double"; }
  void Write(const char* name, std::string_view text) {
    ASSERT_THAT(WriteFile(Folder() / name, text), IsOk());
  }

  Result<LintFinding> Lint(const LintOptions& options = {}) {
    op_ = std::make_unique<Operator>(TRY(suite::ReadOperator(Folder())));
    workloads_ = {TRY(suite::MakeWorkload(*op_, op_->shapes.front()))};
    LintFinding last;
    TRY(LintSuite(workloads_, options,
                  [&](const LintFinding& finding, size_t, size_t) { last = finding; }));
    return last;
  }

  TempDir dir_;
  std::unique_ptr<Operator> op_;
  std::vector<Workload> workloads_;
};

TEST_F(LintSuiteTest, AdmitsAWorkloadWhoseWrongProgramsAreRefused) {
  const auto finding = Lint();
  ASSERT_THAT(finding, IsOk());
  ASSERT_TRUE(finding->admission.has_value());
  const gate::Admission& found = *finding->admission;
  EXPECT_TRUE(found.admitted()) << LintFindingToJson(*finding).Dump();
  EXPECT_EQ(found.honest_tried, 3);  // one program in three regimes
  EXPECT_EQ(found.honest_accepted, 3);
  EXPECT_EQ(found.wrong_tried, 9);  // two programs and the answer to other inputs
  EXPECT_EQ(found.wrong_refused, 9);
  EXPECT_EQ(found.worst_honest->ratio, 0);
  EXPECT_GT(found.nearest_wrong->ratio, 100);
}

TEST_F(LintSuiteTest, NamesAWrongProgramThatPassesAndAnHonestOneThatDoesNot) {
  Write("variants.py", R"(ALL = ("typical",)
HONEST = {"rough": lambda shape, x: {"out": 2.1 * x}}
WRONG = {"a little more": (lambda shape, x: {"out": 2.0001 * x}, ALL)}
)");
  const auto finding = Lint({.regimes = {"typical"}});
  ASSERT_THAT(finding, IsOk());
  EXPECT_FALSE(finding->admission->admitted());
  EXPECT_THAT(finding->admission->faults,
              ElementsAre(HasSubstr("honest 'rough' is refused under typical"),
                          HasSubstr("wrong 'a little more' passes under typical")));
}

TEST_F(LintSuiteTest, AProgramWithoutMemoryIsNotTriedAndOneThatFailsIsAFault) {
  Write("variants.py", R"(import torch
def hungry(shape, x):
    raise MemoryError("no memory for this")
def broken(shape, x):
    raise ValueError("not today")
HONEST = {"sum": lambda shape, x: {"out": x + x}}
WRONG = {"hungry": (hungry, ("typical",)), "broken": (broken, ("typical",))}
)");
  const auto finding = Lint({.regimes = {"typical"}});
  ASSERT_THAT(finding, IsOk());
  EXPECT_THAT(finding->admission->not_tried, ElementsAre(HasSubstr("'hungry' under typical")));
  EXPECT_THAT(finding->admission->faults, ElementsAre(HasSubstr("not today")));
  EXPECT_FALSE(finding->admission->admitted());
}

TEST_F(LintSuiteTest, WithoutAnyWrongProgramNothingIsShown) {
  Write("variants.py", R"(HONEST = {"sum": lambda shape, x: {"out": x + x}}
WRONG = {"not for this shape": (lambda shape, x: None, ("typical",))}
)");
  const auto finding = Lint({.regimes = {"typical"}});
  ASSERT_THAT(finding, IsOk());
  EXPECT_FALSE(finding->admission->admitted());
  EXPECT_THAT(finding->admission->faults, ElementsAre(HasSubstr("no wrong program")));
}

TEST_F(LintSuiteTest, AReferenceThatKnowsOneAnswerOnlyIsNotAdmitted) {
  Write("reference.py", R"(import torch
def inputs(shape, seed, regime, device):
    return {"x": torch.ones(shape["n"], device=device)}
def reference(shape, x):
    return {"out": 2 * x}
)");
  const auto finding = Lint({.regimes = {"typical"}});
  ASSERT_THAT(finding, IsOk());
  EXPECT_THAT(finding->admission->faults,
              ElementsAre(HasSubstr("wrong 'an answer to other inputs' passes")));
}

TEST_F(LintSuiteTest, ReferencesAloneRunWithoutPrograms) {
  fs::remove(Folder() / "variants.py");
  EXPECT_THAT(Lint(), HasError(ErrorKind::kInput, "there is no variants.py"));
  const auto finding = Lint({.references_only = true});
  ASSERT_THAT(finding, IsOk());
  EXPECT_FALSE(finding->admission.has_value());
  EXPECT_THAT(finding->left_out, IsEmpty());
}

TEST_F(LintSuiteTest, AReferenceThatIsNotFiniteIsAnError) {
  Write("reference.py", R"(import torch
def inputs(shape, seed, regime, device):
    return {"x": torch.ones(shape["n"], device=device)}
def reference(shape, x):
    return {"out": x / 0}
)");
  EXPECT_THAT(Lint({.references_only = true}), HasError(ErrorKind::kInput, "must be finite"));
}

}  // namespace
}  // namespace roofmark::pipeline
