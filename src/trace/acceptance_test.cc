// SPDX-License-Identifier: Apache-2.0
// The seven acceptance tests of mining on public profiles, numbered as they were set: totals in
// every form, graphs, overlap, old files, phases, damage, merging. (An eighth, on speed and memory,
// is in ./run bench mine.) They are skipped openly where the profiles are not there.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "base/text.h"
#include "trace/byte_source.h"
#include "trace/capture.h"
#include "trace/fuzz_checks.h"
#include "trace/graph_pairing.h"
#include "trace/gzip_for_tests.h"
#include "trace/json_forms_for_tests.h"
#include "trace/mining_for_tests.h"
#include "trace/op_texts.h"
#include "trace/public_traces_for_tests.h"

namespace roofmark::trace {
namespace {

std::string Inflated(const fs::path& path) {
  ByteSource source = ByteSource::OpenFile(path).value();
  std::string text;
  std::string block(1 << 20, '\0');
  while (const size_t got = source.Read(block.data(), block.size()).value()) {
    text.append(block, 0, got);
  }
  return text;
}

Profile Parse(std::string_view text) {
  Result<Profile> profile = ReadProfile(ByteSource::FromMemory(text));
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value_or(Profile{});
}

// Every column of one row of oracle.tsv, in its order; "-" stands for what does not apply.
std::vector<std::string> Row(const std::string& file, const Profile& profile) {
  const Totals t = ComputeTotals(profile);
  std::vector<std::string> row = {file, "kineto"};
  for (const uint64_t count : {t.events, t.kernels, t.names}) row.push_back(std::to_string(count));
  for (const int64_t ns : {t.sum_kernel_ns, t.union_ns}) row.push_back(std::to_string(ns));
  for (const uint64_t count : {t.devices, t.memcpy}) row.push_back(std::to_string(count));
  row.push_back(std::to_string(t.memcpy_ns));
  for (const uint64_t count : {t.python_events, t.kernels_no_runtime, t.graph_kernels}) {
    row.push_back(std::to_string(count));
  }
  row.push_back(std::to_string(t.graph_ns));
  for (const uint64_t count : {t.kernels_extid_op, t.kernels_extid_op_shaped}) {
    row.push_back(std::to_string(count));
  }
  row.push_back(std::to_string(t.shaped_ns));
  for (const uint64_t count :
       {t.kernels_extid_eq_corr, t.user_annotations, t.neg_dur, t.corr_ids_with_many_kernels}) {
    row.push_back(std::to_string(count));
  }
  row.push_back(profile.base_ns ? std::to_string(*profile.base_ns) : "-");
  return row;
}

class Acceptance : public PublicTraces {
 protected:
  // Rows of oracle.tsv of one kind, by file.
  std::map<std::string, std::string> Oracle(std::string_view kind) const {
    std::map<std::string, std::string> rows;
    const std::string text = ReadFile(shared_ / "oracle.tsv").value();
    for (const std::string_view line : Split(text, '\n')) {
      const std::vector<std::string_view> columns = Split(line, '\t');
      if (columns.size() > 1 && columns[1] == kind) rows.emplace(columns[0], line);
    }
    return rows;
  }
  ProfileSummary MineShared(const char* path) const { return Mine(shared_ / path); }
};

TEST_F(Acceptance, Test1EveryTotalIsExactInEveryForm) {
  const std::map<std::string, std::string> rows = Oracle("kineto");
  EXPECT_EQ(rows.size(), 27U);
  Random random(11);
  for (const auto& [file, row] : rows) {
    SCOPED_TRACE(file);
    const auto expect = [&](const char* form, const Result<Profile>& profile) {
      ASSERT_THAT(profile, IsOk()) << form;
      EXPECT_EQ(Join(Row(file, *profile), "\t"), row) << form;
      EXPECT_EQ(profile->loss.split, SplitLoss{}) << form;
      EXPECT_FALSE(profile->loss.truncated()) << form;
    };
    const auto parse = [](std::string_view text) {
      return ReadProfile(ByteSource::FromMemory(text));
    };
    const std::string text = Inflated(shared_ / file);
    expect("as it came", ReadProfile(shared_ / file));
    expect("plain", parse(text));
    const std::string line = OneLine(text);
    expect("one line", parse(line));
    expect("indented", parse(Indented(line, 1 + file.size() % 4)));
    const std::string shuffled = Shuffled(line, random);
    ASSERT_EQ(shuffled.size(), line.size());
    expect("shuffled", parse(shuffled));
    expect("shuffled, packed", parse(Gzip(shuffled)));
  }
}

// A profile with graphs, and what captured them.
struct Replay {
  explicit Replay(const fs::path& path)
      : profile(ReadProfile(path).value()),
        calls(profile),
        forest(profile),
        linked(LinkKernels(profile, calls, forest, OpsByExternalId(profile),
                           ComputeTotals(profile))) {}

  GraphPairing PairWith(const std::vector<std::unique_ptr<CaptureProfile>>& captures) const {
    return PairGraphs(profile, linked, captures, [](auto&&...) { return true; });
  }

  Profile profile;
  CallFinder calls;
  OpForest forest;
  LinkedProfile linked;
};

struct GraphPair {
  const char* path;
  uint64_t graphs;
  uint64_t kernels;
  int64_t ns;
};
constexpr GraphPair kGraphPairs[] = {
    {"kineto_rocm/sglang_decode_graph/sglang_Qwen3-8B_decode.json.gz", 1, 544, 9656404},
    {"kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz", 1, 421, 10388482},
    {"kineto_rocm/vllm_piecewise_graph/graph_execution.json.gz", 25, 361, 149919755}};

std::vector<std::unique_ptr<CaptureProfile>> ReadCaptures(const fs::path& path) {
  std::vector<std::unique_ptr<CaptureProfile>> captures;
  for (const fs::path& found : FindCaptureProfiles(path)) {
    captures.push_back(ReadCaptureProfile(found).value());
  }
  return captures;
}

// Whether the operator of a captured node, or one around it, has sizes.
bool IsShaped(const CaptureProfile& capture, uint32_t op) {
  for (; op != kNone32; op = capture.forest->Parent(op)) {
    if (HasDims(capture.profile.ops[op].arguments, capture.profile.text)) return true;
  }
  return false;
}

TEST_F(Acceptance, Test2EveryGraphIsPairedAndAllItsTimeShaped) {
  for (const auto& [path, graphs, kernels, ns] : kGraphPairs) {
    SCOPED_TRACE(path);
    const Replay replay(shared_ / path);
    const auto captures = ReadCaptures(shared_ / path);
    const GraphPairing pairing = replay.PairWith(captures);
    EXPECT_EQ(pairing.report.graphs, graphs);
    EXPECT_EQ(pairing.report.exact, graphs);
    EXPECT_EQ(pairing.report.unpaired_nodes, 0U);
    uint64_t paired = 0;
    int64_t shaped = 0;
    for (size_t row = 0; row < replay.profile.kernels.size(); ++row) {
      const CapturedOrigin& origin = pairing.OriginOf(static_cast<uint32_t>(row));
      if (replay.linked.links[row].kind != LinkKind::kGraph) continue;
      ASSERT_NE(origin.capture, kNone32);
      ++paired;
      if (IsShaped(*captures[origin.capture], origin.op)) {
        shaped += replay.profile.kernels[row].dur_ns;
      }
    }
    EXPECT_EQ(paired, kernels);
    EXPECT_EQ(shaped, ns);
    EXPECT_TRUE(MineShared(path).unknown.empty());
  }
}

// Takes the node of that operator out of its graph, and out of those of the layers like it, which
// may have other copies.
void DropNode(CaptureProfile& capture, uint32_t op) {
  const auto names = [](const CapturedGraph& graph) {
    std::vector<TextId> all;
    for (const CapturedNode& node : graph.nodes) {
      if (node.kind == LaunchKind::kKernel) all.push_back(node.kernel);
    }
    return all;
  };
  const auto with = std::ranges::find_if(capture.graphs, [&](const CapturedGraph& graph) {
    return std::ranges::find(graph.nodes, op, &CapturedNode::op) != graph.nodes.end();
  });
  ASSERT_NE(with, capture.graphs.end());
  size_t before = 0;  // kernels in front of it
  for (const CapturedNode& node : with->nodes) {
    if (node.op == op) break;
    before += node.kind == LaunchKind::kKernel ? 1 : 0;
  }
  const std::vector<TextId> of_graph = names(*with);
  for (CapturedGraph& graph : capture.graphs) {
    if (names(graph) != of_graph) continue;
    size_t kernels = 0;
    const auto dropped = std::ranges::find_if(graph.nodes, [&](const CapturedNode& node) {
      return node.kind == LaunchKind::kKernel && kernels++ == before;
    });
    graph.nodes.erase(dropped);
  }
}

// Whichever launch is missing: its node is reported, and the others keep their operators.
TEST_F(Acceptance, Test2ALaunchThatTheCaptureLacksIsReportedAndShiftsNothing) {
  for (const auto& [path, graphs, kernels, ns] : kGraphPairs) {
    SCOPED_TRACE(path);
    const Replay replay(shared_ / path);
    const auto captures = ReadCaptures(shared_ / path);
    std::vector<CapturedOrigin> whole;  // by kernel
    const GraphPairing paired = replay.PairWith(captures);
    for (uint32_t row = 0; row < replay.profile.kernels.size(); ++row) {
      whole.push_back(paired.OriginOf(row));
    }
    for (size_t row = 0; row < whole.size(); row += 7) {
      if (whole[row].capture == kNone32) continue;
      CaptureProfile& capture = *captures[whole[row].capture];
      const std::vector<CapturedGraph> kept = capture.graphs;
      DropNode(capture, whole[row].op);
      const GraphPairing pairing = replay.PairWith(captures);
      EXPECT_LT(pairing.report.exact, graphs);
      EXPECT_GT(pairing.report.unpaired_nodes, 0U);
      EXPECT_GT(pairing.report.unpaired_ns, 0);
      for (size_t other = 0; other < whole.size(); ++other) {
        const CapturedOrigin& origin = pairing.OriginOf(static_cast<uint32_t>(other));
        EXPECT_TRUE(origin.capture == kNone32 || origin.op == whole[other].op)
            << "without node " << row << ", node " << other << " of "
            << replay.profile.text.Text(replay.profile.kernels[other].name);
      }
      capture.graphs = kept;
    }
  }
}

TEST_F(Acceptance, Test3OverlapIsSharedAndNotCountedTwice) {
  const ProfileSummary summary =
      MineShared("sglang_decode_b300_vs_mi300/deepseek_r1_B300-TP-0-DECODE.trace.json.gz");
  EXPECT_EQ(summary.aggregate.sum_ns, 4125258);
  EXPECT_EQ(summary.aggregate.busy_ns, 3637277);
  EXPECT_EQ(summary.aggregate.sum_ns * 1000 / summary.aggregate.busy_ns, 1134);
  const ProfileSummary more = MineShared("kineto_cuda/hta/trace_diff_control.json.gz");
  EXPECT_EQ(more.aggregate.sum_ns, 446813000);
  EXPECT_EQ(more.aggregate.busy_ns, 369257000);
}

// NOT SHOWN: the test as it was set names two B300 files, with ratios of 1.134 and 1.169. The
// second one is not among the public profiles (traces/INDEX.md lists one of B300, and no row of
// oracle.tsv has that ratio), so nothing has seen it. What it would show beside the first, that
// exposed times add up to the union where kernels overlap more, is held on all 31 files below, one
// of which has a ratio of 1.210. Should it be published, this test holds it too.
TEST_F(Acceptance, Test3TheSecondB300FileIsNotPublic) {
  for (const auto& [file, row] : Oracle("kineto")) {
    const std::vector<std::string_view> columns = Split(row, '\t');
    const int64_t sum = ParseInt(columns[5]).value();
    const int64_t busy = ParseInt(columns[6]).value();
    if (busy == 0 || sum * 1000 / busy != 1169) continue;
    const ProfileSummary summary = Mine(shared_ / file);
    EXPECT_EQ(summary.aggregate.sum_ns, sum);
    EXPECT_EQ(summary.aggregate.busy_ns, busy);
    return;
  }
  GTEST_SKIP() << "no public profile has the overlap of the second B300 file, 1.169: not shown";
}

TEST_F(Acceptance, Test3ExposedTimesAddUpToTheUnionInEveryFile) {
  std::map<std::string, std::string> files = Oracle("kineto");
  files.merge(Oracle("nsys"));
  EXPECT_EQ(files.size(), 31U);
  for (const auto& [file, row] : files) {
    SCOPED_TRACE(file);
    const Profile profile = ReadProfile(shared_ / file).value();
    CheckProfile(profile);  // aborts where they do not
    const std::string union_ns(Split(row, '\t')[6]);
    int64_t exposed = 0;
    for (const int64_t part : ComputeExposure(profile.kernels).exposed_ns) exposed += part;
    EXPECT_EQ(std::to_string(exposed), union_ns);
  }
}

TEST_F(Acceptance, Test4NoKernelOfAnOldFileIsLinkedByItsExternalId) {
  int files = 0;
  for (const auto& [file, row] : Oracle("kineto")) {
    const std::vector<std::string_view> columns = Split(row, '\t');
    if (columns[3] == "0" || columns[17] != columns[3]) continue;  // kernels with equal ids
    ++files;
    const ProfileSummary summary = Mine(shared_ / file);
    EXPECT_EQ(Number(summary, "links", "external_id"), 0) << file;
    EXPECT_EQ(Number(summary, "links", "containment") + Number(summary, "links", "none"),
              ParseInt(columns[3]).value())
        << file;
    EXPECT_GT(Number(summary, "links", "containment"), 0) << file;
  }
  EXPECT_EQ(files, 2);
  EXPECT_EQ(Number(MineShared("et/param_linear_kineto.json.gz"), "links", "containment"), 8716);
}

TEST_F(Acceptance, Test5PhasesComeFromLabels) {
  const std::map<const char*, Phase> phases = {
      {"kineto_rocm/sglang_decode_graph/sglang_Qwen3-8B_decode.json.gz", Phase::kDecode},
      {"kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz", Phase::kDecode},
      {"sglang_decode_b300_vs_mi300/deepseek_r1_B300-TP-0-DECODE.trace.json.gz", Phase::kDecode},
      {"sglang_decode_b300_vs_mi300/deepseek_r1_MI300-TP-0-DECODE.trace.json.gz", Phase::kDecode},
      {"kineto_rocm/sglang_prefilldecode_eager/sglang_Qwen3-8B_prefilldecode.json.gz",
       Phase::kPrefill},
      {"kineto_cuda/vllm_gptoss_b200_eager.json.gz", Phase::kPrefill}};
  for (const auto& [path, phase] : phases) {
    const std::map<Phase, int64_t> times = TimeByPhase(MineShared(path));
    EXPECT_EQ(times.size(), 1U) << path;
    EXPECT_EQ(times.begin()->first, phase) << path;
  }
}

// Each operator's time of the mixed step, by tokens; attention's by pairs of queries and keys,
// sampling's by sequences.
TEST_F(Acceptance, Test5MixedStepsAreSplitByTheirLabelsMoments) {
  const ProfileSummary summary =
      MineShared("kineto_rocm/vllm_piecewise_graph/graph_execution.json.gz");
  std::map<std::string, std::map<Phase, int64_t>> times;
  std::map<std::string, int64_t> launches;
  for (const AggregateCell& cell : summary.aggregate.cells) {
    times[cell.op][cell.phase] += cell.exposed_ns;
    launches[cell.op] += cell.launches;
  }
  int64_t total = 0;
  for (const auto& [op, phases] : times) {
    double share = 37.0 / 8192;
    if (op == "unified_attention") {
      const double scores = 7671310 - 7475785 / 2;
      share = 34489.0 / (scores + 34489.0);
    }
    if (op == "sampling") share = 37.0 / 46;
    int64_t sum = 0;
    for (const auto& [phase, time] : phases) sum += time;
    total += sum;
    ASSERT_EQ(phases.size(), 2U) << op;
    EXPECT_NEAR(static_cast<double>(phases.at(Phase::kDecode)), share * static_cast<double>(sum),
                static_cast<double>(launches[op]))
        << op;
  }
  EXPECT_EQ(total, summary.aggregate.busy_ns);
}

// Small ones of every kind: CUDA with overlap, a HIP graph, compiled code, an old one.
const char* const kToDamage[] = {
    "sglang_decode_b300_vs_mi300/deepseek_r1_B300-TP-0-DECODE.trace.json.gz",
    "kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz",
    "kineto_rocm/torch_compile_triton_mi300.json.gz", "kineto_rocm/gpu_only_mi210.json.gz"};

TEST_F(Acceptance, Test6TruncationAtEvery4KiBIsSurvivedAndSaid) {
  for (const char* path : kToDamage) {
    SCOPED_TRACE(path);
    const std::string text = Inflated(shared_ / path);
    const std::string packed = ReadFile(shared_ / path).value();
    const uint64_t kernels = Parse(text).kernels.size();
    for (const std::string& whole : {text, packed}) {
      for (size_t size = 4096; size < whole.size(); size += 4096) {
        const std::string part = whole.substr(0, size);
        const Result<Profile> profile = ReadProfile(ByteSource::FromMemory(part));
        if (!profile) continue;  // before the events begin
        EXPECT_TRUE(profile->loss.truncated()) << size;
        EXPECT_LE(profile->kernels.size(), kernels);
        CheckProfile(*profile);
      }
    }
  }
}

TEST_F(Acceptance, Test6ChangedBytesAreSurvivedAndNoKernelIsLostSilently) {
  Random random(23);
  constexpr std::string_view kNasty = "\"\\{}[],:\n\0\xff-eE.";
  for (const char* path : kToDamage) {
    SCOPED_TRACE(path);
    const std::string text = Inflated(shared_ / path);
    const Profile whole = Parse(text);
    for (int round = 0; round < 300; ++round) {
      std::string changed = text;
      const uint64_t changes = 1 + random.Below(4);
      for (uint64_t i = 0; i < changes; ++i) {
        changed[random.Below(changed.size())] = random.Below(2) == 0
                                                    ? kNasty[random.Below(kNasty.size())]
                                                    : static_cast<char>(random.Below(256));
      }
      const Result<Profile> profile = ReadProfile(ByteSource::FromMemory(changed));
      if (!profile) continue;  // the key of the events itself
      CheckProfile(*profile);
      EXPECT_LE(profile->events, whole.events + changes);
      // A change may turn a kernel into another kind of event; more are lost only with an account.
      if (profile->kernels.size() + changes < whole.kernels.size()) {
        EXPECT_TRUE(profile->loss.split != SplitLoss{}) << round;
      }
    }
  }
}

// What the fields of an event can hold, all the way through mining.
TEST(Acceptance6, OddArgumentsAreMinedAndAccountedFor) {
  const std::string sample = ReadFile(kSource / "src/trace/testdata/two_steps.json").value();
  const ProfileSummary whole = Mine(kSource / "src/trace/testdata/two_steps.json");
  const std::string dims = "\"Input Dims\": ";
  const std::string huge(30, '9');
  const TempDir folder = TempDir::Make("odd").value();
  for (const std::string& odd :
       {dims + std::string(1000, '[') + "1" + std::string(1000, ']') + ", \"x\": ",
        dims + "[[" + huge + ", -" + huge + "], [nan, 1e400]], \"x\": ",
        dims + "\"" + std::string(10 << 20, 'x') + "\", \"x\": ",
        dims + "[\"\xff\xfe\xc3(\", inf, -nan], \"Input type\": [\"\xff\"], \"x\": "}) {
    SCOPED_TRACE(odd.substr(0, 60));
    std::string text = sample;
    for (size_t at = text.find(dims); at != std::string::npos;
         at = text.find(dims, at + odd.size())) {
      text.replace(at, dims.size(), odd);
    }
    const fs::path path = folder.path() / "p.json";
    ASSERT_THAT(WriteFile(path, text), IsOk());
    const ProfileSummary summary = Mine(path);
    EXPECT_EQ(summary.aggregate.busy_ns, whole.aggregate.busy_ns);
    EXPECT_EQ(summary.aggregate.events, whole.aggregate.events);
    EXPECT_EQ(summary.aggregate.lost_events, 0);
    EXPECT_EQ(TimeByOperator(summary), TimeByOperator(whole));
  }
}

// The aggregates of real profiles: any partition, any order, some of them twice.
void ExpectMergeLaws(const std::vector<fs::path>& paths) {
  std::vector<Aggregate> mined;
  Aggregate whole;
  for (const fs::path& path : paths) {
    mined.emplace_back();
    mined.back().Add(Mine(path).aggregate);
    whole.Merge(mined.back());
  }
  const std::string bytes = whole.ToJson().Dump();
  Random random(29);
  for (int round = 0; round < 10; ++round) {
    std::vector<Aggregate> parts(1 + random.Below(4));
    std::vector<size_t> order;
    for (size_t i = 0; i < mined.size(); ++i) order.insert(order.end(), 1 + random.Below(2), i);
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
    for (const size_t i : order) parts[random.Below(parts.size())].Merge(mined[i]);
    while (parts.size() > 1) {
      // As another machine would send it.
      const auto sent = Json::Parse(parts.back().ToJson().Dump());
      parts.pop_back();
      parts[random.Below(parts.size())].Merge(Aggregate::FromJson(sent.value()).value());
    }
    EXPECT_EQ(parts[0].ToJson().Dump(), bytes);
  }
  // Taking one out again restores sums and histograms.
  for (size_t bad = 0; bad < mined.size(); ++bad) {
    Aggregate without;
    for (size_t i = 0; i < mined.size(); ++i) {
      if (i != bad) without.Merge(mined[i]);
    }
    Aggregate again = whole;
    for (const auto& [hash, profile] : mined[bad].profiles()) EXPECT_TRUE(again.Remove(hash));
    EXPECT_EQ(again.ToJson().Dump(), without.ToJson().Dump());
  }
}

TEST(Acceptance7, OurProfilesMergeIntoTheSameBytesAndCanBeTakenOut) {
  std::vector<fs::path> paths;
  const auto inputs = FindProfiles({kRecorded / "manifest.csv"});
  ASSERT_THAT(inputs, IsOk());
  for (const ProfileInput& input : *inputs) {
    paths.push_back(input.path);
  }
  ExpectMergeLaws(paths);
}

TEST_F(Acceptance, Test7PublicProfilesMergeIntoTheSameBytesAndCanBeTakenOut) {
  std::vector<fs::path> paths = {shared_ / "nsys/mfu_2gpu_before.sqlite"};
  for (const char* path : kToDamage) paths.push_back(shared_ / path);
  for (const GraphPair& pair : kGraphPairs) paths.push_back(shared_ / pair.path);
  std::ranges::sort(paths);
  paths.erase(std::ranges::unique(paths).begin(), paths.end());
  ExpectMergeLaws(paths);
}

}  // namespace
}  // namespace roofmark::trace
