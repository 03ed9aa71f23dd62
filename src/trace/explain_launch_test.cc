// SPDX-License-Identifier: Apache-2.0
// Each shape says where it is from, and what found it there.
#include "trace/explain_launch.h"

#include <fmt/format.h>

#include "base/text.h"
#include "trace/mining_for_tests.h"
#include "trace/public_traces_for_tests.h"

namespace roofmark::trace {
namespace {

using testing::HasSubstr;

// The first explanation of the kernels whose names hold the text.
Explanation First(const fs::path& path, const char* kernel, MineOptions options = {}) {
  options.explain = kernel;
  const ProfileSummary summary = Mine(path, options);
  EXPECT_FALSE(summary.explanations.empty()) << path;
  return summary.explanations.empty() ? Explanation{} : summary.explanations[0];
}

std::string TextOf(const Explanation& explanation) {
  return Join(explanation.lines, "\n");
}

TEST(ExplainLaunch, SaysThatAShapeIsOfTheLaunchItself) {
  const Explanation eager = First(kRecorded / "dense_prefill.json.gz", "rms_norm_kernel");
  EXPECT_EQ(ShapeFromName(eager.shape_from), "profile");
  EXPECT_THAT(TextOf(eager), HasSubstr("shape from profile: this profile, the operator around"));
  EXPECT_THAT(TextOf(eager), HasSubstr("read by    roofmark.toml: op "));
  const Explanation node = First(kSource / "src/trace/testdata/nsys_graph.sqlite", "nvjet");
  EXPECT_EQ(ShapeFromName(node.shape_from), "node_creation");
  EXPECT_THAT(TextOf(node), HasSubstr("the operator around the creation of the graph's node"));
}

// Whoever has the table of operators asks by those.
TEST(ExplainLaunch, IsAskedByOperatorToo) {
  const Explanation product = First(kRecorded / "dense_prefill.json.gz", "gemm");
  EXPECT_THAT(TextOf(product), HasSubstr("decided    gemm: "));
  EXPECT_THAT(TextOf(product), HasSubstr("nvjet"));
}

TEST(ExplainLaunch, SaysWhatPairedAReplayWithItsCapture) {
  const Explanation order = First(kRecorded / "dense_decode_graph.json.gz", "silu_and_mul");
  EXPECT_EQ(ShapeFromName(order.shape_from), "capture_by_order");
  EXPECT_THAT(TextOf(order),
              HasSubstr("shape from capture_by_order: capture dense_decode_graph_capture.json.gz "
                        "(32 tokens, FULL): by order, since CUDA records no names at capture: 57 "
                        "kernels on both sides, 0 of them contradicted by the rules"));
  const TempDir folder = TempDir::Make("explain").value();
  const fs::path replay = folder.path() / "replay.json.gz";
  fs::copy_file(kRecorded / "dense_decode_graph.json.gz", replay);
  const Explanation eager =
      First(replay, "silu_and_mul", {.captures = {kRecorded / "dense_decode.json.gz"}});
  EXPECT_THAT(std::string(ShapeFromName(eager.shape_from)), testing::StartsWith("eager_"));
  EXPECT_THAT(TextOf(eager), HasSubstr("eager run dense_decode.json.gz ("));
  EXPECT_THAT(TextOf(eager), HasSubstr("the same names in the same order"));
}

TEST(ExplainLaunch, SaysWhichFactsAndLabelsAShapeRestsOn) {
  const Explanation attention =
      First(kRecorded / "dense_decode_graph.json.gz", "kernel_unified_attention_3d");
  EXPECT_THAT(TextOf(attention), HasSubstr("lengths by the sums in the step's label"));
}

TEST(ExplainLaunch, SaysThatAnExecutionTraceHasTheNumber) {
  const Explanation traced = First(kSource / "src/trace/testdata/shapeless.json", "rms_norm");
  EXPECT_EQ(ShapeFromName(traced.shape_from), "trace_by_id");
  EXPECT_THAT(TextOf(traced), HasSubstr("execution trace shapeless_et.json, the operator of the "
                                        "same number and name"));
}

// A thread of operators, each launching a kernel, without sizes and numbers.
std::string ShapelessProfile(const std::vector<std::string>& ops) {
  std::string text = "{\"traceEvents\": [";
  for (size_t i = 0; i < ops.size(); ++i) {
    const size_t at = 1000 + 100 * i;
    text += fmt::format(
        R"({{"ph": "X", "cat": "cpu_op", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": 50, )"
        R"("args": {{}}}}, )"
        R"({{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, )"
        R"("ts": {}, "dur": 5, "args": {{"correlation": {}}}}}, )"
        R"({{"ph": "X", "cat": "kernel", "name": "k{}", "pid": 0, "tid": 7, "ts": {}, "dur": 5, )"
        R"("args": {{"device": 0, "stream": 7, "correlation": {}}}}}, )",
        ops[i], at, at + 10, 7 + i, i, at + 60, 7 + i);
  }
  return text + "{}]}";
}

// A trace in which the n-th operator works on as many rows as `rows` says.
std::string TraceText(const std::vector<std::string>& ops, const std::vector<int>& rows) {
  std::string text = R"({"schema": "1.0.1", "nodes": [)";
  for (size_t i = 0; i < ops.size(); ++i) {
    text += fmt::format(
        R"_({}{{"name": "{}", "id": {}, "rf_id": 0, "parent": 1, "tid": 1, "inputs": [[1], [2]], )_"
        R"_("input_shapes": [[{}, 64], [64, 32]], )_"
        R"_("input_types": ["Tensor(c10::BFloat16)", "Tensor(c10::BFloat16)"], "outputs": []}})_",
        i == 0 ? "" : ", ", ops[i], 2 + i, rows[i]);
  }
  return text + "]}";
}

TEST(ExplainLaunch, SaysThatASequenceOfNamesGaveTheShapeAndWhatWasDisputed) {
  const TempDir folder = TempDir::Make("explain").value();
  std::vector<std::string> ops(20, "aten::mm");
  ops[3] = "aten::addmv";  // so that the sequence says where it begins
  std::vector<std::string> twice = ops;
  twice.insert(twice.end(), ops.begin(), ops.end());
  std::vector<int> rows(40, 5);
  rows[1] = 6;  // in one of two places that fit
  ASSERT_THAT(WriteFile(folder.path() / "p.json", ShapelessProfile(ops)), IsOk());
  ASSERT_THAT(WriteFile(folder.path() / "p_et.json", TraceText(twice, rows)), IsOk());
  const Explanation agreed = First(folder.path() / "p.json", "k7");
  EXPECT_EQ(ShapeFromName(agreed.shape_from), "trace_by_names");
  EXPECT_THAT(TextOf(agreed), HasSubstr("execution trace p_et.json: a run of 20 operators has the "
                                        "same names in the same order there, at 2 places that "
                                        "agree on this size"));
  // "k1" is also the beginning of k10 to k19.
  const ProfileSummary summary = Mine(folder.path() / "p.json", {.explain = "k1"});
  std::string all;
  for (const Explanation& one : summary.explanations) all += TextOf(one) + "\n";
  EXPECT_THAT(all, HasSubstr("unknown: 2 places of the execution trace p_et.json fit and differ"));
  EXPECT_EQ(Number(summary, "shapes_from_ns", "trace_by_names"), 18 * 5000);
  EXPECT_EQ(Number(summary, "shapes_from_ns", "unknown"), 2 * 5000);
}

class PublicExplanations : public PublicTraces {};

TEST_F(PublicExplanations, NameTheSequenceOfAHipGraph) {
  const fs::path path = shared_ / "kineto_rocm/sglang_decode_graph/sglang_Qwen3-8B_decode.json.gz";
  const Explanation norm = First(path, "rmsnorm");
  EXPECT_EQ(ShapeFromName(norm.shape_from), "capture_by_names");
  EXPECT_THAT(TextOf(norm), HasSubstr("its 544 kernels have the same names in the same order"));
}

}  // namespace
}  // namespace roofmark::trace
