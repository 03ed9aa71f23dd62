// SPDX-License-Identifier: Apache-2.0
// Mining as a whole: links, graphs and their captures, phases, shapes, and that no nanosecond is
// lost on the way. Our own recorded profiles are always there; the public ones where ../shared is.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/files.h"
#include "base/testing.h"
#include "base/text.h"
#include "trace/mining_for_tests.h"
#include "trace/public_traces_for_tests.h"
#include "trace/rule_stub.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

TEST(Mining, AttributesTheSampleByHand) {
  const ProfileSummary summary = Mine(kSource / "src/trace/testdata/two_steps.json");
  const std::map<std::string, int64_t> times = TimeByOperator(summary);
  // Kernels of the sample, added up by operator. The product shares 1.5 us with the norm; a kernel
  // of a second stream, which runs for 1 us beside the norm, was launched inside the product's
  // operator.
  EXPECT_EQ(times.at("gemm"), 20000 - 750 + 9999 + 500);
  EXPECT_EQ(times.at("silu_and_mul"), 7333 + 1500);
  EXPECT_EQ(times.at("sampling"), 5000);
  EXPECT_EQ(times.at(""), 4000);  // the fused kernel that no rule knows
  EXPECT_EQ(summary.json.Find("unattributed_ns")->as_int(), 4000);
  ASSERT_EQ(summary.unknown.size(), 1U);
  EXPECT_EQ(summary.unknown[0].name, "fused_thing_of_ours");
  const std::vector<AggregateCell> norms = CellsOf(summary, "rms_norm");
  ASSERT_EQ(norms.size(), 2U);
  EXPECT_EQ(norms[0].phase, Phase::kPrefill);
  EXPECT_EQ(Axis(norms[0], "tokens"), 300);
  EXPECT_EQ(Axis(norms[0], "hidden"), 1024);
  EXPECT_EQ(norms[0].dtypes.at("x"), "bf16");
  EXPECT_EQ(norms[1].phase, Phase::kDecode);
  EXPECT_TRUE(norms[1].axes.empty());  // a graph without its capture
  EXPECT_EQ(Number(summary, "graphs", "unpaired_kernels"), 6);
  EXPECT_EQ(Number(summary, "links", "none"), 1);
}

TEST(Mining, PutsEveryNanosecondSomewhere) {
  const std::vector<ProfileInput> inputs = FindProfiles({kRecorded}).value();
  for (const ProfileInput& input : inputs) {
    if (input.path.extension() != ".gz") continue;
    const ProfileSummary summary = Mine(input.path);
    int64_t exposed = 0;
    for (const auto& [op, time] : TimeByOperator(summary)) exposed += time;
    EXPECT_EQ(exposed, summary.json.Find("union_ns")->as_int()) << input.path;
    EXPECT_EQ(summary.json.Find("unattributed_ns")->as_int(), 0) << input.path;
  }
}

TEST(Mining, ShapesOurRecordedPrefill) {
  const ProfileSummary summary = Mine(kRecorded / "dense_prefill.json.gz");
  EXPECT_EQ(TimeByPhase(summary).size(), 1U);
  EXPECT_EQ(TimeByPhase(summary).count(Phase::kPrefill), 1U);
  for (const char* op : {"rms_norm", "silu_and_mul", "block_scaled_mm", "unified_attention"}) {
    const std::vector<AggregateCell> cells = CellsOf(summary, op);
    EXPECT_EQ(cells.size(), 3U) << op;  // one for each of the three steps
    for (const AggregateCell& cell : cells) EXPECT_FALSE(cell.axes.empty()) << op;
  }
  for (const AggregateCell& cell : CellsOf(summary, "unified_attention")) {
    // Whole prompts: each context is its own queries.
    EXPECT_EQ(List(cell, "q_lens"), List(cell, "kv_lens"));
    EXPECT_EQ(Axis(cell, "query_heads"), 32);
    EXPECT_EQ(Axis(cell, "kv_heads"), 8);
    EXPECT_EQ(Axis(cell, "head_size"), 128);
    EXPECT_EQ(Axis(cell, "page_size"), 16);
    EXPECT_EQ(cell.calls, 4);  // layers
  }
  for (const AggregateCell& cell : CellsOf(summary, "block_scaled_mm")) {
    EXPECT_EQ(Axis(cell, "n"), 4096);
    EXPECT_EQ(Axis(cell, "group"), 128);
    EXPECT_EQ(cell.dtypes.at("a"), "f8_e4m3fn");
  }
}

TEST(Mining, PairsOurGraphReplaysWithTheirCapture) {
  for (const char* name : {"dense_decode_graph.json.gz", "moe_decode_graph.json.gz"}) {
    const ProfileSummary summary = Mine(kRecorded / name);
    EXPECT_EQ(Number(summary, "graphs", "replays"), 6) << name;
    EXPECT_EQ(Number(summary, "graphs", "exact"), 6) << name;
    EXPECT_EQ(Number(summary, "graphs", "unpaired_ns"), 0) << name;
    const std::vector<AggregateCell> norms = CellsOf(summary, "rms_norm");
    ASSERT_EQ(norms.size(), 1U);
    EXPECT_EQ(Axis(norms[0], "tokens"), 32);
    EXPECT_EQ(norms[0].calls, 6);
    // Steps of 29 sequences run in the graph of 32; attention counts the true ones.
    size_t smaller = 0;
    for (const AggregateCell& cell : CellsOf(summary, "unified_attention")) {
      EXPECT_EQ(cell.calls, 4);
      EXPECT_EQ(cell.launches, 8);  // the main kernel and its reduction
      if (List(cell, "q_lens").size() == 29) ++smaller;
    }
    EXPECT_EQ(smaller, 2U) << name;
  }
}

// Where no capture was recorded, an eager run of the same model gives the operators.
TEST(Mining, PairsGraphReplaysWithAnEagerRun) {
  const TempDir folder = TempDir::Make("mining").value();
  const fs::path replay = folder.path() / "replay.json.gz";
  fs::copy_file(kRecorded / "dense_decode_graph.json.gz", replay);
  const ProfileSummary summary = Mine(replay, {.captures = {kRecorded / "dense_decode.json.gz"}});
  EXPECT_EQ(Number(summary, "graphs", "exact") + Number(summary, "graphs", "aligned"), 6);
  EXPECT_EQ(Number(summary, "graphs", "unpaired"), 0);
  for (const AggregateCell& cell : CellsOf(summary, "rms_norm")) EXPECT_FALSE(cell.axes.empty());
}

// A replay and the capture that does not fit it: nothing is paired, and that is said.
TEST(Mining, ReportsGraphsThatNoCaptureFits) {
  const TempDir folder = TempDir::Make("mining").value();
  const fs::path replay = folder.path() / "replay.json.gz";
  fs::copy_file(kRecorded / "dense_decode_graph.json.gz", replay);
  const ProfileSummary alone = Mine(replay);
  EXPECT_EQ(Number(alone, "graphs", "unpaired"), 6);
  EXPECT_GT(Number(alone, "graphs", "unpaired_ns"), 0);
  EXPECT_EQ(alone.json.Find("unattributed_ns")->as_int(), 0);  // names still speak
  const ProfileSummary wrong =
      Mine(replay, {.captures = {kRecorded / "moe_decode_graph_capture.json.gz"}});
  EXPECT_EQ(Number(wrong, "graphs", "unpaired"), 6);
  const ProfileSummary right =
      Mine(replay, {.captures = {kRecorded / "dense_decode_graph_capture.json.gz"}});
  EXPECT_EQ(Number(right, "graphs", "exact"), 6);
}

TEST(Mining, NamesACaptureThatTheSidecarListsAndNobodyCopied) {
  const TempDir folder = TempDir::Make("sidecar").value();
  const fs::path replay = folder.path() / "replay.json.gz";
  fs::copy_file(kRecorded / "dense_decode_graph.json.gz", replay);
  const fs::path captures = folder.path() / "capture_traces";
  fs::create_directory(captures);
  fs::copy_file(kRecorded / "dense_decode_graph_capture.json.gz", captures / "a.json.gz");
  ASSERT_THAT(WriteFile(captures / "execution_details.json",
                        R"([{"file": "a.json.gz"}, {"file": "b.json.gz"}])"),
              IsOk());
  const ProfileSummary summary = Mine(replay);
  EXPECT_EQ(Number(summary, "graphs", "exact"), 6);
  const Json* lost = summary.json.Find("loss")->Find("captures");
  ASSERT_EQ(lost->array().size(), 1U);
  EXPECT_THAT(lost->array()[0].as_string(), testing::HasSubstr("b.json.gz"));
}

TEST(Mining, NamesACaptureThatDoesNotRead) {
  const ProfileSummary summary =
      Mine(kRecorded / "dense_decode_graph.json.gz", {.captures = {"/nowhere/capture.json"}});
  const Json* lost = summary.json.Find("loss")->Find("captures");
  ASSERT_EQ(lost->array().size(), 1U);
  EXPECT_THAT(lost->array()[0].as_string(), testing::HasSubstr("/nowhere/capture.json"));
}

TEST(Mining, AddsUpShapesBeyondTheBudgetAndSaysHowMany) {
  const ProfileSummary all = Mine(kRecorded / "moe_mixed.json.gz");
  const ProfileSummary one = Mine(kRecorded / "moe_mixed.json.gz", {.most_shapes = 1});
  EXPECT_EQ(all.json.Find("folded_shapes")->as_int(), 0);
  EXPECT_GT(one.json.Find("folded_shapes")->as_int(), 0);
  EXPECT_GT(one.json.Find("folded_ns")->as_int(), 0);
  EXPECT_EQ(TimeByOperator(one), TimeByOperator(all));
  EXPECT_EQ(TimeByPhase(one), TimeByPhase(all));
  EXPECT_LT(one.aggregate.cells.size(), all.aggregate.cells.size());
}

class PublicProfiles : public PublicTraces {
 protected:
  ProfileSummary MineShared(const char* path) { return Mine(shared_ / path); }
};

TEST_F(PublicProfiles, EveryLaunchOfTheServingProfilesIsClassified) {
  for (const char* path :
       {"kineto_cuda/vllm_gptoss_b200_eager.json.gz",
        "kineto_rocm/sglang_decode_graph/sglang_Qwen3-8B_decode.json.gz",
        "kineto_rocm/sglang_prefilldecode_eager/sglang_Qwen3-8B_prefilldecode.json.gz",
        "kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz",
        "kineto_rocm/vllm_piecewise_graph/graph_execution.json.gz",
        "kineto_cuda/qwen1.5-0.5b_h100.json.gz", "kineto_rocm/qwen1.5-0.5b_mi300.json.gz",
        "sglang_decode_b300_vs_mi300/deepseek_r1_B300-TP-0-DECODE.trace.json.gz",
        "sglang_decode_b300_vs_mi300/deepseek_r1_MI300-TP-0-DECODE.trace.json.gz",
        "nsys/h100_2gpu_1s.sqlite", "nsys/mfu_2gpu_before.sqlite"}) {
    const ProfileSummary summary = MineShared(path);
    EXPECT_TRUE(summary.unknown.empty()) << path << ": " << summary.unknown[0].name;
  }
}

// Where the profile or its capture records sizes, every dense product has its own.
TEST_F(PublicProfiles, DenseProductsHaveTheirSizes) {
  for (const char* path :
       {"kineto_cuda/vllm_gptoss_b200_eager.json.gz",
        "kineto_rocm/sglang_decode_graph/sglang_Qwen3-8B_decode.json.gz",
        "kineto_rocm/sglang_prefilldecode_eager/sglang_Qwen3-8B_prefilldecode.json.gz",
        "kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz",
        "kineto_rocm/xdit_sd35_torch_compile.json.gz"}) {
    const std::vector<AggregateCell> products = CellsOf(MineShared(path), "gemm");
    int64_t all = 0;
    int64_t shaped = 0;
    for (const AggregateCell& cell : products) {
      all += cell.exposed_ns;
      if (Axis(cell, "m") > 0 && Axis(cell, "n") > 0 && Axis(cell, "k") > 0) {
        shaped += cell.exposed_ns;
      }
    }
    EXPECT_GT(all, 0) << path;
    EXPECT_GT(static_cast<double>(shaped), 0.99 * static_cast<double>(all)) << path;
  }
}

// What Inductor made is a norm, with or without an addition, by its arguments; its number says
// nothing.
TEST_F(PublicProfiles, KernelsOfCompiledCodeHaveOperatorsAndSizes) {
  const ProfileSummary summary = MineShared("kineto_rocm/torch_compile_triton_mi300.json.gz");
  for (const char* op : {"rms_norm", "fused_add_rms_norm"}) {
    const std::vector<AggregateCell> cells = CellsOf(summary, op);
    ASSERT_EQ(cells.size(), 1U) << op;
    EXPECT_EQ(Axis(cells[0], "tokens"), 8 * 4096) << op;
    EXPECT_EQ(Axis(cells[0], "hidden"), 2048) << op;
    EXPECT_EQ(cells[0].dtypes.at("x"), "bf16") << op;
    EXPECT_EQ(cells[0].launches, 1) << op;
  }
  const std::vector<AggregateCell> gates = CellsOf(summary, "silu_and_mul");
  ASSERT_EQ(gates.size(), 1U);
  EXPECT_EQ(Axis(gates[0], "rows"), 8 * 4096);
  EXPECT_EQ(Axis(gates[0], "width"), 8192);
  // A gate of an embedding of time is no silu_and_mul.
  EXPECT_TRUE(
      CellsOf(MineShared("kineto_rocm/xdit_sd35_torch_compile.json.gz"), "silu_and_mul").empty());
}

TEST_F(PublicProfiles, AttentionOfAMixedStepKeepsTheLabelsSums) {
  const ProfileSummary summary =
      MineShared("kineto_rocm/vllm_piecewise_graph/graph_execution.json.gz");
  const std::vector<AggregateCell> cells = CellsOf(summary, "unified_attention");
  ASSERT_EQ(cells.size(), 2U);  // prefill, which counts the calls, and its part of decode
  EXPECT_EQ(cells[0].phase, Phase::kPrefill);
  EXPECT_EQ(cells[1].phase, Phase::kDecode);
  EXPECT_GT(cells[0].calls, 0);
  EXPECT_EQ(cells[1].calls, 0);
  const std::vector<int64_t> q = List(cells[0], "q_lens");
  const std::vector<int64_t> kv = List(cells[0], "kv_lens");
  EXPECT_EQ(q.size(), 46U);
  EXPECT_EQ(std::accumulate(q.begin(), q.end(), int64_t{0}), 8155 + 37);
  EXPECT_EQ(std::accumulate(kv.begin(), kv.end(), int64_t{0}), 8430 + 34489);
  EXPECT_EQ(Axis(cells[0], "page_size"), 32);  // told by the operator that writes the cache
}

// The time is shared, the shape is the whole call's: so the deployed time of a call is the whole
// one, in both phases.
TEST(Mining, KnowsTheTimeOfACallThatAMixedStepShares) {
  const TempDir folder = TempDir::Make("mixed").value();
  const fs::path path = folder.path() / "p.json";
  ASSERT_THAT(WriteFile(path, R"json({"schemaVersion": 1, "traceEvents": [
    {"ph": "X", "cat": "user_annotation", "name": "execute_context_1(30)_generation_10(10)",
     "pid": 1, "tid": 1, "ts": 0, "dur": 90, "args": {}},
    {"ph": "X", "cat": "cpu_op", "name": "_C::rms_norm", "pid": 1, "tid": 1, "ts": 5, "dur": 20,
     "args": {"External id": 7, "Input Dims": [[40, 64], [40, 64], [64], []],
     "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "Scalar"]}},
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 6,
     "dur": 2, "args": {"correlation": 3}},
    {"ph": "X", "cat": "kernel", "name": "vllm::rms_norm_kernel<c10::BFloat16, 8, 2>", "pid": 0,
     "tid": 7, "ts": 50, "dur": 8, "args": {"device": 0, "stream": 7, "correlation": 3,
     "External id": 7}}]})json"),
              IsOk());
  const std::vector<AggregateCell> cells = CellsOf(Mine(path), "rms_norm");
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_EQ(cells[0].sum_ns, 6000);  // 30 of 40 tokens
  EXPECT_EQ(cells[1].sum_ns, 2000);
  for (const AggregateCell& cell : cells) {
    EXPECT_EQ(Axis(cell, "tokens"), 40);
    EXPECT_EQ(cell.DeployedNs(), 8000);
  }
}

TEST(Mining, ExplainsWhichRuleClaimsAKernelAndWhy) {
  const ProfileSummary summary =
      Mine(kRecorded / "dense_decode_graph.json.gz", {.explain = "rms_norm"});
  ASSERT_FALSE(summary.explanations.empty());
  const std::string text = Join(summary.explanations[0].lines, "\n");
  EXPECT_THAT(text, testing::HasSubstr("node of a graph captured for 32 tokens"));
  EXPECT_THAT(text, testing::HasSubstr("roofmark.toml: op 2)"));
  EXPECT_THAT(text, testing::HasSubstr("one of ours"));
  EXPECT_THAT(text, testing::HasSubstr("decode: the step's label"));
  EXPECT_THAT(text, testing::HasSubstr("\"tokens\": 32"));
  EXPECT_TRUE(
      Mine(kRecorded / "dense_decode.json.gz", {.explain = "no such"}).explanations.empty());
}

TEST(Mining, SaysWhatAProfileLacks) {
  const auto ids = [](const ProfileSummary& summary) {
    std::set<std::string> found;
    for (const Finding& finding : summary.findings) found.insert(finding.id);
    return found;
  };
  using testing::Contains;
  const fs::path data = kSource / "src/trace/testdata";
  EXPECT_THAT(ids(Mine(data / "nsys_graph.sqlite")), Contains("nodes"));
  EXPECT_THAT(ids(Mine(data / "run_kernel_trace.csv")), Contains("operators"));
  EXPECT_THAT(ids(Mine(data / "nsys_3_25.sqlite")), Contains("calls"));
  EXPECT_THAT(ids(Mine(data / "two_steps.json")), Contains("graphs"));
  EXPECT_THAT(ids(Mine(data / "two_steps.json")), Contains("rules"));
  const TempDir folder = TempDir::Make("check").value();
  EXPECT_THAT(WriteFile(folder.path() / "p.json", "{\"traceEvents\": []}"), IsOk());
  const ProfileSummary empty = Mine(folder.path() / "p.json");
  ASSERT_FALSE(empty.findings.empty());
  EXPECT_EQ(empty.findings[0].weight, Weight::kUnusable);
  for (const Finding& finding : Mine(kRecorded / "dense_decode_graph.json.gz").findings) {
    EXPECT_EQ(finding.weight, Weight::kNote) << finding.id << ": " << finding.what;
  }
}

TEST(Mining, GivesGraphNodesTheShapesOfTheirCreation) {
  const ProfileSummary summary = Mine(kSource / "src/trace/testdata/nsys_graph.sqlite");
  const std::vector<AggregateCell> products = CellsOf(summary, "gemm");
  ASSERT_EQ(products.size(), 1U);
  EXPECT_EQ(Axis(products[0], "m"), 300);
  EXPECT_EQ(Axis(products[0], "k"), 1024);
  EXPECT_EQ(products[0].phase, Phase::kDecode);
  EXPECT_EQ(products[0].calls, 2);                                    // each replay is a call
  EXPECT_EQ(summary.json.Find("unattributed_ns")->as_int(), 50'000);  // the graph as a whole
}

TEST(RuleStubs, NameKernelsByTheirBase) {
  EXPECT_EQ(BaseKernelName("void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float,"
                           " 1, (bool)0>(at::cuda::detail::TensorInfo<float, int>, float)"),
            "fused_dropout_kernel_vec");
  EXPECT_EQ(BaseKernelName("_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256EE"),
            "add_rmsnorm_quant_kernel");
  EXPECT_EQ(BaseKernelName("nvjet_tst_192x192_64x4"), "nvjet_tst_192x192_64x4");
  EXPECT_EQ(BaseKernelName(""), "");
  const std::string stubs =
      RuleStubs({{"void f<1>(int)", 10, 1}, {"g", 2000, 3}, {"f<2>()", 5, 1}});
  EXPECT_LT(stubs.find("[\"g\"]"), stubs.find("[\"f\"]"));
  EXPECT_THAT(Json::ParseToml(stubs), IsOk());
}

TEST(FindProfiles, ReadsManifests) {
  const auto inputs = FindProfiles({kRecorded / "manifest.csv"});
  ASSERT_THAT(inputs, IsOk());
  ASSERT_EQ(inputs->size(), 8U);
  EXPECT_EQ((*inputs)[0].path, kRecorded / "dense_prefill.json.gz");
  EXPECT_EQ((*inputs)[0].options.application, "chat");
  EXPECT_EQ((*inputs)[0].options.card_ms, 310 * 3600 * 1000);
  EXPECT_FALSE((*inputs)[0].searched);
}

TEST(FindProfiles, TakesEachPathOnceAndSearchesFolders) {
  const auto inputs = FindProfiles({kRecorded / "dense_decode.json.gz", kRecorded});
  ASSERT_THAT(inputs, IsOk());
  EXPECT_EQ(inputs->size(), 10U);
  EXPECT_FALSE((*inputs)[0].searched);
  EXPECT_TRUE((*inputs)[1].searched);
}

TEST(FindProfiles, NamesTheLineOfAManifestThatIsWrong) {
  const TempDir folder = TempDir::Make("manifest").value();
  const fs::path path = folder.path() / "fleet.csv";
  const auto found = [&](std::string_view text) {
    EXPECT_THAT(WriteFile(path, text), IsOk());
    return FindProfiles({path});
  };
  EXPECT_THAT(found("name,hours\n"), HasError(ErrorKind::kInput, "line 1"));
  EXPECT_THAT(found("profile,card_hours\nnone.json,3\n"),
              HasError(ErrorKind::kNotFound, "none.json"));
  EXPECT_THAT(WriteFile(folder.path() / "a.json", "[]"), IsOk());
  EXPECT_THAT(found("profile,card_hours\n\na.json,many\n"), HasError(ErrorKind::kInput, "line 3"));
  EXPECT_THAT(found("profile,card_hours\na.json,-1\n"), HasError(ErrorKind::kInput, "card_hours"));
  EXPECT_THAT(found("application,profile\n\"a, b\",a.json\n"), IsOk());
  EXPECT_EQ(found("application,profile\n\"a, b\",a.json\n")->at(0).options.application, "a, b");
  EXPECT_THAT(FindProfiles({"/nowhere"}), HasError(ErrorKind::kNotFound, "/nowhere"));
}

}  // namespace
}  // namespace roofmark::trace
