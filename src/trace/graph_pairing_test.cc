// SPDX-License-Identifier: Apache-2.0
// Pairing replays with captures: what fits is paired, what is missing is said, nothing is shifted.
#include "trace/graph_pairing.h"

#include <fmt/format.h>

#include "base/testing.h"
#include "trace/totals.h"

namespace roofmark::trace {
namespace {

using Names = std::vector<std::string>;

std::string Row(std::string_view category, std::string_view name, int64_t ts, int64_t dur,
                std::string_view args) {
  return fmt::format(
      R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 1, "ts": {}, "dur": {}, )"
      R"("args": {{{}}}}}, )",
      category, name, ts, dur, args);
}

// A replay of one graph with these nodes; copies are named "copy".
Profile Replay(const Names& nodes,
               std::string_view label = "execute_context_0(0)_generation_4(4)") {
  std::string text = "[";
  text += Row("user_annotation", label, 0, 100, "");
  text += Row("cuda_runtime", "cudaGraphLaunch", 5, 2, R"("correlation": 9)");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto ts = static_cast<int64_t>(200 + 10 * i);
    const char* category = nodes[i] == "copy" ? "gpu_memcpy" : "kernel";
    text += Row(category, nodes[i], ts, 5, R"("device": 0, "stream": 7, "correlation": 9)");
  }
  return ReadProfile(ByteSource::FromMemory(text.append("{}]"))).value();
}

enum class Recorder { kHip, kCuda };

// The capture of a graph with these nodes, each inside an operator "op_<index>": the first one is
// of as many rows as there are tokens.
std::unique_ptr<CaptureProfile> Capture(const Names& nodes, Recorder recorder, int tokens = 4) {
  const std::string label = fmt::format("capture_{}_FULL", tokens);
  const auto span = static_cast<int64_t>(100 * nodes.size() + 1000);
  std::string text = "[";
  text += Row("user_annotation", label, 0, span, "");
  text += Row("cuda_runtime", "hipStreamBeginCapture", 1, 1, R"("correlation": 1)");
  for (size_t i = 0; i < nodes.size(); ++i) {
    const auto ts = static_cast<int64_t>(100 + 100 * i);
    const std::string id = fmt::format(R"("correlation": {})", 10 + i);
    text += Row("cpu_op", fmt::format("op_{}", i), ts, 50,
                fmt::format(R"("Input Dims": [[{}, 8]])", i == 0 ? tokens : 5));
    if (nodes[i] == "copy") {
      text += Row("cuda_runtime", "cudaMemcpyAsync", ts + 5, 5, id);
    } else if (recorder == Recorder::kHip) {
      text += Row("cuda_runtime", "hipLaunchKernel", ts + 5, 5,
                  fmt::format(R"("kernel": "{}", )", nodes[i]) + id);
    } else {
      // Some libraries launch through a driver call inside the runtime call: one node.
      text += Row("cuda_runtime", "cudaLaunchKernel", ts + 5, 5, id);
      text += Row("cuda_driver", "cuLaunchKernelEx", ts + 6, 2, id);
    }
  }
  text += Row("cuda_runtime", "hipStreamEndCapture", span - 5, 1, R"("correlation": 2)");
  return MakeCaptureProfile(ReadProfile(ByteSource::FromMemory(text.append("{}]"))).value());
}

struct Paired {
  GraphPairing pairing;
  std::vector<std::string> ops;  // by kernel: its captured operator; empty where there is none
};

Paired Pair(
    const Profile& replay, std::vector<std::unique_ptr<CaptureProfile>> captures,
    const Compatible& compatible = [](auto, const auto&, const auto&) { return true; }) {
  const CallFinder calls(replay);
  const OpForest forest(replay);
  const IdIndex ops;
  const LinkedProfile linked = LinkKernels(replay, calls, forest, ops, ComputeTotals(replay));
  Paired paired{.pairing = PairGraphs(replay, linked, captures, compatible)};
  for (uint32_t row = 0; row < replay.kernels.size(); ++row) {
    const CapturedOrigin& origin = paired.pairing.OriginOf(row);
    if (origin.capture == kNone32) {
      paired.ops.emplace_back();
      continue;
    }
    const Profile& capture = captures[origin.capture]->profile;
    paired.ops.emplace_back(capture.text.Text(capture.ops[origin.op].name));
  }
  return paired;
}

std::vector<std::unique_ptr<CaptureProfile>> One(std::unique_ptr<CaptureProfile> capture) {
  std::vector<std::unique_ptr<CaptureProfile>> captures;
  captures.push_back(std::move(capture));
  return captures;
}

Names Numbered(size_t count) {
  Names names;
  for (size_t i = 0; i < count; ++i) names.push_back(fmt::format("kernel_{}", i % 7));
  return names;
}

TEST(GraphPairing, PairsEqualSequencesNodeByNode) {
  const Paired paired =
      Pair(Replay({"a", "b", "a"}), One(Capture({"a", "b", "a"}, Recorder::kHip)));
  EXPECT_EQ(paired.pairing.report.exact, 1U);
  EXPECT_EQ(paired.ops, (Names{"op_0", "op_1", "op_2"}));
}

TEST(GraphPairing, CountsCopiesOnBothSidesOrOnNeither) {
  EXPECT_EQ(Pair(Replay({"a", "copy", "b"}), One(Capture({"a", "copy", "b"}, Recorder::kHip))).ops,
            (Names{"op_0", "op_2"}));
  EXPECT_EQ(Pair(Replay({"a", "b"}), One(Capture({"a", "copy", "b"}, Recorder::kHip))).ops,
            (Names{"op_0", "op_2"}));
  EXPECT_EQ(Pair(Replay({"copy", "a", "b"}), One(Capture({"a", "b"}, Recorder::kCuda))).ops,
            (Names{"op_0", "op_1"}));
}

TEST(GraphPairing, ReportsALaunchThatTheCaptureLacks) {
  const Names nodes = Numbered(100);
  Names captured = nodes;
  captured.erase(captured.begin() + 50);
  const Paired paired = Pair(Replay(nodes), One(Capture(captured, Recorder::kHip)));
  EXPECT_EQ(paired.pairing.report.aligned, 1U);
  EXPECT_EQ(paired.pairing.report.unpaired_nodes, 1U);
  EXPECT_EQ(paired.pairing.report.unpaired_ns, 5000);
  // Nothing is shifted: the launches behind the gap still find their own.
  EXPECT_EQ(paired.ops[49], "op_49");
  EXPECT_EQ(paired.ops[50], "");
  EXPECT_EQ(paired.ops[51], "op_50");
  EXPECT_EQ(paired.ops[99], "op_98");
}

// A replay that is a part of a longer graph is not a replay of it.
TEST(GraphPairing, RefusesTheCaptureOfALongerGraph) {
  const Paired paired = Pair(Replay({"a", "b"}), One(Capture({"a", "c", "b"}, Recorder::kHip)));
  EXPECT_EQ(paired.pairing.report.unpaired, 1U);
  EXPECT_EQ(paired.ops, (Names{"", ""}));
}

TEST(GraphPairing, RefusesCapturesThatFitTooBadly) {
  const Names nodes = Numbered(100);
  Names captured = nodes;
  captured.erase(captured.begin() + 50, captured.begin() + 55);
  const Paired paired = Pair(Replay(nodes), One(Capture(captured, Recorder::kHip)));
  EXPECT_EQ(paired.pairing.report.unpaired, 1U);
  EXPECT_EQ(paired.pairing.report.unpaired_nodes, 100U);
}

TEST(GraphPairing, PairsByOrderOnCudaOnlyWhereCountAndKindAgree) {
  const Names nodes = Numbered(100);
  EXPECT_EQ(Pair(Replay(nodes), One(Capture(nodes, Recorder::kCuda))).ops[99], "op_99");
  Names fewer = nodes;
  fewer.pop_back();
  EXPECT_EQ(Pair(Replay(nodes), One(Capture(fewer, Recorder::kCuda))).pairing.report.unpaired, 1U);
  const auto contradict = [](size_t of_hundred) {
    return [of_hundred](std::string_view, const CaptureProfile&, const CapturedNode& node) {
      return node.op > of_hundred;  // rows count from 1: the annotation comes first
    };
  };
  EXPECT_EQ(
      Pair(Replay(nodes), One(Capture(nodes, Recorder::kCuda)), contradict(2)).pairing.report.exact,
      1U);
  EXPECT_EQ(Pair(Replay(nodes), One(Capture(nodes, Recorder::kCuda)), contradict(9))
                .pairing.report.unpaired,
            1U);
}

TEST(GraphPairing, PrefersTheCaptureForTheStepsSize) {
  std::vector<std::unique_ptr<CaptureProfile>> captures;
  captures.push_back(Capture({"a", "b"}, Recorder::kHip, 64));
  captures.push_back(Capture({"a", "b"}, Recorder::kHip, 2));
  captures.push_back(Capture({"a", "b"}, Recorder::kHip, 8));
  const Paired paired = Pair(Replay({"a", "b"}), std::move(captures));
  EXPECT_EQ(paired.pairing.OriginOf(0).capture, 2U);  // the smallest that holds the step's 4 tokens
}

// A graph of another size may have the same names: a step of 4 tokens did not run it.
TEST(GraphPairing, NeverTakesTheCaptureOfAnotherSizeForADamagedOne) {
  for (const int other : {2, 64}) {
    std::vector<std::unique_ptr<CaptureProfile>> captures;
    captures.push_back(Capture({"a"}, Recorder::kHip, 8));  // its second launch is missing
    captures.push_back(Capture({"a", "b"}, Recorder::kHip, other));
    const Paired paired = Pair(Replay({"a", "b"}), std::move(captures));
    EXPECT_EQ(paired.pairing.report.unpaired, 1U) << other;
    EXPECT_EQ(paired.pairing.report.unpaired_nodes, 2U) << other;
  }
}

// Without a label any size can have run: the operator is known, a size is only where all agree.
TEST(GraphPairing, LeavesASizeOpenThatNothingSays) {
  std::vector<std::unique_ptr<CaptureProfile>> captures;
  captures.push_back(Capture({"a", "b"}, Recorder::kHip, 64));
  captures.push_back(Capture({"a", "b"}, Recorder::kHip, 8));
  const Profile replay = Replay({"a", "b"}, "unlabelled");
  const Paired paired = Pair(replay, std::move(captures));
  EXPECT_EQ(paired.pairing.report.exact, 1U);
  EXPECT_EQ(paired.ops, (Names{"op_0", "op_1"}));
  EXPECT_TRUE(paired.pairing.OriginOf(0).disputed);   // [[64, 8]] or [[8, 8]]
  EXPECT_FALSE(paired.pairing.OriginOf(1).disputed);  // [[5, 8]] in both
}

}  // namespace
}  // namespace roofmark::trace
