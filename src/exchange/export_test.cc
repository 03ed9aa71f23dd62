// SPDX-License-Identifier: Apache-2.0
#include "exchange/export.h"

#include <cmath>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::exchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Json Parsed(std::string_view text) {
  return std::move(Json::Parse(text)).value();
}

// Two workloads of an operator, judged by whoever a test wants.
class Export : public ::testing::Test {
 protected:
  Export() {
    op_.name = "scale";
    for (const char* id : {"a", "b"}) {
      Workload workload{.op = &op_};
      workload.shape.id = id;
      workload.axes = {{"case", int64_t{0}}, {"rows", int64_t{4}}, {"eps", 0.5}};
      workload.inputs = {{.name = "x", .sizes = {4}}};
      workloads_.push_back(std::move(workload));
    }
  }

  Verdict& Add(const char* shape, const char* candidate, Outcome outcome, double ns = 0) {
    Verdict verdict{.operator_name = "scale", .shape = shape, .candidate = candidate};
    verdict.device = "Some CPU";
    verdict.outcome = outcome;
    verdict.gate = Gate::kPerformance;
    if (ns > 0) verdict.time_ns = Interval{.median = ns, .low = ns, .high = ns};
    verdicts_.push_back({.run = 7, .verdict = std::move(verdict)});
    return verdicts_.back().verdict;
  }
  void AddBaseline(const char* shape, const char* name, double ns) {
    Add(shape, name, Outcome::kPassed, ns).role = Role::kBaseline;
  }
  ExportRequest Request() const {
    return {.verdicts = verdicts_, .runs = runs_, .workloads = workloads_};
  }

  Operator op_;
  std::vector<Workload> workloads_;
  std::vector<store::StoredVerdict> verdicts_;
  std::vector<store::RunInfo> runs_ = {{.id = 7, .date = "2026-01-02T03:04:05Z"}};
};

TEST_F(Export, FastPCountsCorrectAndFasterThanPTimesTheBaseline) {
  AddBaseline("a", "eager", 1000);
  AddBaseline("b", "eager", 1000);
  Add("a", "mine", Outcome::kPassed, 400);
  Add("b", "mine", Outcome::kPassed, 1100);
  const auto exported = FastP(Request());
  ASSERT_THAT(exported, IsOk());
  ASSERT_EQ(exported->lines.size(), 1);
  const Json& line = exported->lines[0];
  EXPECT_EQ(*line.Find("fast_p"),
            Parsed(R"({"0.0": 1.0, "0.5": 1.0, "0.8": 1.0, "1.0": 0.5, "1.5": 0.5, "2.0": 0.5})"));
  EXPECT_NEAR(line.Find("geometric_mean_speedup")->as_double(), std::sqrt(2.5 / 1.1), 1e-9);
}

TEST_F(Export, FastPCallsNothingCorrectThatTheJudgeRefused) {
  AddBaseline("a", "eager", 1000);
  AddBaseline("b", "eager", 1000);
  Add("a", "mine", Outcome::kFallback, 400);
  Add("b", "mine", Outcome::kWrongOutput).gate = Gate::kCorrectness;
  const auto exported = FastP(Request());
  ASSERT_THAT(exported, IsOk());
  const Json& line = exported->lines[0];
  EXPECT_EQ(line.Find("n")->as_int(), 2);
  EXPECT_EQ(line.Find("correct")->as_int(), 0);
  EXPECT_EQ(line.Find("refused_by_performance_gate")->as_int(), 1);
  EXPECT_EQ(line.Find("geometric_mean_speedup")->Dump(), "null");
}

TEST_F(Export, FastPOfOneFileAProblemHasALineForAll) {
  AddBaseline("a", "eager", 1000);
  AddBaseline("b", "eager", 1000);
  Add("a", "first", Outcome::kPassed, 500);
  Add("b", "second", Outcome::kPassed, 2000);
  const auto exported = FastP(Request());
  ASSERT_THAT(exported, IsOk());
  ASSERT_EQ(exported->lines.size(), 3);
  EXPECT_EQ(exported->lines[2].Find("candidate")->as_string(), "all");
  EXPECT_EQ(exported->lines[2].Find("n")->as_int(), 2);
}

TEST_F(Export, FastPLeavesOutProblemsWithoutABaseline) {
  AddBaseline("a", "eager", 1000);
  Add("a", "mine", Outcome::kPassed, 500);
  Add("b", "mine", Outcome::kPassed, 500);
  const auto exported = FastP(Request());
  ASSERT_THAT(exported, IsOk());
  EXPECT_EQ(exported->lines[0].Find("n")->as_int(), 1);
  EXPECT_THAT(exported->left_out, ElementsAre(HasSubstr("without a time of the baseline")));
}

TEST_F(Export, FastPNeedsABaselineAndOnlyOne) {
  Add("a", "mine", Outcome::kPassed, 500);
  EXPECT_THAT(FastP(Request()), HasError(ErrorKind::kNotFound, "judge one into the same store"));
  AddBaseline("a", "eager", 1000);
  AddBaseline("a", "compiled", 800);
  EXPECT_THAT(FastP(Request()), HasError(ErrorKind::kUsage, "--baseline: compiled, eager"));
  ExportRequest request = Request();
  request.baseline = "vendor";
  EXPECT_THAT(FastP(request), HasError(ErrorKind::kNotFound, "no baseline 'vendor'"));
}

TEST_F(Export, TracesKeepTheDefinitionAndTheWorkloadThatWereImported) {
  const TempDir folder = std::move(TempDir::Make("roofmark-test")).value();
  ASSERT_THAT(WriteFile(folder.path() / "import.json",
                        R"({"definition": "scale_h4", "workloads": [
                            {"workload": {"uuid": "u-1", "axes": {"M": 4}, "inputs": {}}}]})"),
              IsOk());
  op_.folder = folder.path();
  AddBaseline("a", "reference", 3e6);
  Add("a", "mine", Outcome::kPassed, 1.5e6).max_error = 0.25;
  const auto exported = FlashInferTraces(Request());
  ASSERT_THAT(exported, IsOk());
  ASSERT_EQ(exported->lines.size(), 2);
  EXPECT_EQ(exported->lines[1], Parsed(R"({
      "definition": "scale_h4", "workload": {"uuid": "u-1", "axes": {"M": 4}, "inputs": {}},
      "solution": "mine",
      "evaluation": {
        "status": "PASSED", "environment": {"hardware": "Some_CPU", "libs": {}},
        "timestamp": "2026-01-02T03:04:05Z", "log": "",
        "correctness": {"max_relative_error": "NaN", "max_absolute_error": "NaN",
                        "extra": {"max_error_over_tolerance": 0.25, "outcome": "passed"}},
        "performance": {"latency_ms": 1.5, "reference_latency_ms": 3.0, "speedup_factor": 2.0}
      }})"));
  EXPECT_TRUE(exported->left_out.empty());
}

TEST_F(Export, TracesOfOurOwnOperatorsStateAxesAndSaySo) {
  Verdict& verdict = Add("b", "mine", Outcome::kWrongOutput);
  verdict.reason = "3 of 4 elements";
  const auto exported = FlashInferTraces(Request());
  ASSERT_THAT(exported, IsOk());
  const Json& line = exported->lines[0];
  EXPECT_EQ(*line.Find("workload"), Parsed(R"({
      "axes": {"case": 0, "rows": 4},
      "inputs": {"x": {"type": "random"}, "eps": {"type": "scalar", "value": 0.5}},
      "uuid": "scale/b"})"));
  const Json& evaluation = *line.Find("evaluation");
  EXPECT_EQ(evaluation.Find("status")->as_string(), "INCORRECT_NUMERICAL");
  EXPECT_TRUE(evaluation.Find("performance")->is_null());
  EXPECT_THAT(exported->left_out, ElementsAre(HasSubstr("did not come from FlashInfer-Bench")));
}

TEST_F(Export, TracesLeaveOutWhatHasNoStatus) {
  Add("a", "mine", Outcome::kFallback, 100);
  Add("b", "mine", Outcome::kPassed);  // no time was measured
  const auto exported = FlashInferTraces(Request());
  ASSERT_THAT(exported, IsOk());
  EXPECT_TRUE(exported->lines.empty());
  EXPECT_THAT(exported->left_out, ElementsAre(HasSubstr("1 verdicts 'fallback'"),
                                              HasSubstr("'passed, without a time'")));
}

}  // namespace
}  // namespace roofmark::exchange
