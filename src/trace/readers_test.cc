// SPDX-License-Identifier: Apache-2.0
// Every format tells of the same run (tests/profiles/make_fixtures.py): so every reader must give
// the same launches, links and totals, and each survives what its format can suffer.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/testing.h"
#include "base/text.h"
#include "trace/byte_source.h"
#include "trace/gzip_for_tests.h"
#include "trace/links.h"
#include "trace/nsys_reader.h"
#include "trace/op_ids.h"
#include "trace/profile.h"
#include "trace/profile_format.h"
#include "trace/public_traces_for_tests.h"
#include "trace/rocprof_csv.h"
#include "trace/rocprof_json.h"
#include "trace/totals.h"

namespace roofmark::trace {
namespace {

const fs::path kData = fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata";

Profile Read(const fs::path& path) {
  Result<Profile> profile = ReadProfile(path);
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value_or(Profile{});
}

// Nothing is lost silently: each event is in a table, or was skipped.
void ExpectReconciled(const Profile& profile) {
  EXPECT_EQ(profile.events, profile.skipped + profile.kernels.size() + profile.copies.size() +
                                profile.calls.size() + profile.ops.size() +
                                profile.gpu_ranges.size());
}

struct Sample {
  const char* file;
  ProfileFormat format;
  const char* device;
  uint64_t runs;
};
const Sample kSamples[] = {
    {"nsys_3_25.sqlite", ProfileFormat::kNsys, "Example GPU", 1},
    {"nsys_2_9.sqlite", ProfileFormat::kNsys, "", 1},
    {"rocpd_3.db", ProfileFormat::kRocpd, "Example Instinct", 2},
    {"rocpd_4.db", ProfileFormat::kRocpd, "Example Instinct", 1},
    {"run.rpd", ProfileFormat::kRpd, "", 1},
    {"run_results.json", ProfileFormat::kRocprofJson, "Example Instinct", 1},
    {"run_kernel_trace.csv", ProfileFormat::kRocprofCsv, "", 1},
};

TEST(Readers, GiveTheSameTotalsOfTheSameRun) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.file);
    EXPECT_EQ(DetectFormat(kData / sample.file), sample.format);
    const Profile profile = Read(kData / sample.file);
    EXPECT_EQ(profile.format, sample.format);
    EXPECT_EQ(profile.device_name, sample.device);
    EXPECT_EQ(profile.loss.damage, "");
    EXPECT_EQ(profile.loss.split, SplitLoss{});
    ExpectReconciled(profile);
    const Totals totals = ComputeTotals(profile);
    const auto runs = static_cast<int64_t>(sample.runs);
    EXPECT_EQ(totals.kernels, 4 * sample.runs);
    EXPECT_EQ(totals.names, 4U);
    EXPECT_EQ(totals.sum_kernel_ns, runs * (20'000 + 6'000 + 7'500 + 4'000));
    EXPECT_EQ(totals.union_ns, runs * (25'000 + 7'500 + 4'000));  // the norm overlaps by 1 us
    EXPECT_EQ(totals.devices, 2U);
    EXPECT_EQ(totals.memcpy, sample.runs);
    EXPECT_EQ(totals.memcpy_ns, runs * 1216);
    EXPECT_EQ(totals.kernels_no_runtime, sample.runs);
    EXPECT_EQ(totals.neg_dur, 0U);
  }
}

TEST(Readers, TieLaunchesToCallsAndTheStepAroundThem) {
  for (const Sample& sample : kSamples) {
    SCOPED_TRACE(sample.file);
    const Profile profile = Read(kData / sample.file);
    const CallFinder calls(profile);
    const OpForest forest(profile);
    const IdIndex ops = OpsByExternalId(profile);
    const LinkedProfile linked = LinkKernels(profile, calls, forest, ops, ComputeTotals(profile));
    std::map<std::string, size_t> phases;
    for (size_t row = 0; row < profile.kernels.size(); ++row) {
      const Link& link = linked.links[row];
      const std::string_view name = profile.text.Text(profile.kernels[row].name);
      const bool odd = name.find("fused_thing") != std::string_view::npos;
      EXPECT_EQ(link.call == kNone32, odd) << name;
      if (odd) continue;
      ASSERT_NE(link.label, kNone32) << name;
      EXPECT_EQ(linked.labels[link.label].phase, Phase::kPrefill);
    }
  }
}

TEST(Readers, SpellKernelsLikeKineto) {
  const Profile profile = Read(kData / "nsys_3_25.sqlite");
  std::set<std::string_view> names;
  for (const Launch& kernel : profile.kernels) names.insert(profile.text.Text(kernel.name));
  EXPECT_TRUE(names.contains("void (anonymous namespace)::fused_thing_of_ours<4u>(char*)"));
  EXPECT_TRUE(names.contains(
      "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel, true>(T1*)"));
  const Profile rocm = Read(kData / "rocpd_3.db");
  EXPECT_EQ(rocm.text.Text(rocm.kernels[0].name),
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1");
}

TEST(Readers, ReadOperatorsAndSizesOfNvtx) {
  const Profile profile = Read(kData / "nsys_3_25.sqlite");
  ASSERT_EQ(profile.ops.size(), 4U);
  EXPECT_EQ(profile.text.Text(profile.ops[1].name), "aten::mm");
  EXPECT_EQ(OpTextsOf(profile.ops[1].arguments, profile.text).dims, "[[300, 1024], [1024, 512]]");
  EXPECT_FALSE(profile.ops[1].annotation);
  EXPECT_TRUE(profile.ops[0].annotation);
  EXPECT_TRUE(profile.shapes_recorded);
  EXPECT_EQ(profile.base_ns, 1767189312000000000);
  EXPECT_EQ(profile.version, "3.25.0");
  EXPECT_EQ(Read(kData / "nsys_2_9.sqlite").version, "2.9.1");
}

TEST(Readers, FollowGraphNodesToTheirCreation) {
  const Profile profile = Read(kData / "nsys_graph.sqlite");
  ExpectReconciled(profile);
  const CallFinder calls(profile);
  const OpForest forest(profile);
  const IdIndex ops = OpsByExternalId(profile);
  const Totals totals = ComputeTotals(profile);
  EXPECT_EQ(totals.graph_kernels, 7U);  // six nodes of two replays, and a graph as a whole
  EXPECT_EQ(profile.loss.whole_graphs, 1U);
  const LinkedProfile linked = LinkKernels(profile, calls, forest, ops, totals);
  const char* expected[] = {"aten::mm", "_C::rms_norm", "_C::silu_and_mul"};
  for (size_t row = 0; row < 6; ++row) {
    const Link& link = linked.links[row];
    EXPECT_EQ(link.kind, LinkKind::kGraphNode);
    ASSERT_NE(link.op, kNone32);
    EXPECT_EQ(profile.text.Text(profile.ops[link.op].name), expected[row % 3]);
    ASSERT_NE(link.label, kNone32);
    EXPECT_EQ(linked.labels[link.label].phase, Phase::kDecode);
  }
  EXPECT_EQ(profile.text.Text(profile.kernels[6].name), kWholeGraph);
  EXPECT_EQ(linked.links[6].kind, LinkKind::kGraph);
}

TEST(Readers, KeepProcessesApart) {
  // Another process has a call with the id of the kernel whose own call is missing.
  const Profile profile = Read(kData / "nsys_3_25.sqlite");
  EXPECT_EQ(ComputeTotals(profile).kernels_no_runtime, 1U);
  const Profile runs = Read(kData / "rocpd_3.db");
  EXPECT_EQ(ComputeTotals(runs).corr_ids_with_many_kernels, 0U);
}

TEST(Readers, KeepWhatADamagedDatabaseStillHolds) {
  const std::string whole = ReadFile(kData / "nsys_3_25.sqlite").value();
  size_t damaged = 0;
  for (size_t size = 0; size < whole.size(); size += 512) {
    Result<SqliteRows> rows = SqliteRows::FromMemory(whole.substr(0, size));
    if (!rows) continue;
    Result<Profile> profile = ReadNsys(std::move(*rows));
    if (!profile) continue;
    ExpectReconciled(*profile);
    EXPECT_LE(profile->kernels.size(), 4U);
    if (profile->loss.truncated()) ++damaged;
  }
  EXPECT_GT(damaged, 0U);
}

TEST(Readers, KeepWhatADamagedDocumentStillHolds) {
  const std::string whole = ReadFile(kData / "run_results.json").value();
  size_t most = 0;
  for (size_t size = 0; size < whole.size(); size += 7) {
    const std::string part = whole.substr(0, size);
    Result<Profile> profile = ReadRocprofJson(ByteSource::FromMemory(part));
    if (!profile) continue;
    EXPECT_TRUE(profile->loss.truncated()) << size;
    ExpectReconciled(*profile);
    most = std::max(most, profile->kernels.size());
  }
  EXPECT_EQ(most, 4U);
}

TEST(Readers, CountLinesOfACsvThatMakeNoSense) {
  const std::string whole = ReadFile(kData / "run_kernel_trace.csv").value();
  const auto read = [](const std::string& text) {
    Result<Profile> profile = ReadRocprofCsv(ByteSource::FromMemory(text));
    EXPECT_THAT(profile, IsOk());
    return std::move(profile).value_or(Profile{});
  };
  EXPECT_EQ(read(whole).kernels.size(), 4U);
  const Profile odd = read(whole + "nonsense\n\"KERNEL_DISPATCH\",\"Agent 4\"\n");
  EXPECT_EQ(odd.kernels.size(), 4U);
  EXPECT_EQ(odd.loss.split.damaged_events, 2U);
  const Profile open = read(whole + "\"never closed, 1, 2\n");
  EXPECT_EQ(open.kernels.size(), 4U);
  EXPECT_EQ(open.loss.split.damaged_events, 1U);
  EXPECT_THAT(ReadRocprofCsv(ByteSource::FromMemory("a,b\n1,2\n")),
              HasError(ErrorKind::kInput, "Start_Timestamp"));
}

// What the tables do not name still has its time and something to be called by.
TEST(Readers, CallKernelsWithoutANameByTheirNumber) {
  const Result<Profile> sheet = ReadRocprofCsv(
      ByteSource::FromMemory("Kernel_Id,Kernel_Name,Start_Timestamp,End_Timestamp\n17,,10,15\n"));
  ASSERT_THAT(sheet, IsOk());
  ASSERT_EQ(sheet->kernels.size(), 1U);
  EXPECT_EQ(sheet->text.Text(sheet->kernels[0].name), "[kernel 17]");
  const Result<Profile> document = ReadRocprofJson(ByteSource::FromMemory(
      R"({"rocprofiler-sdk-tool": [{"buffer_records": {"hsa_api": [{"kind": 1}, {"kind": 2}],
      "kernel_dispatch": [{"start_timestamp": 10, "end_timestamp": 15,
                           "dispatch_info": {"kernel_id": 17}}]}}]})"));
  ASSERT_THAT(document, IsOk());
  ASSERT_EQ(document->kernels.size(), 1U);
  EXPECT_EQ(document->text.Text(document->kernels[0].name), "[kernel 17]");
  EXPECT_EQ(document->skipped, 2U);  // calls of another interface are counted
  ExpectReconciled(*document);
}

TEST(Readers, KeepTheKernelsWhereASheetBesideThemDoesNotRead) {
  const TempDir folder = TempDir::Make("sheets").value();
  const fs::path path = folder.path() / "run_kernel_trace.csv";
  fs::copy_file(kData / "run_kernel_trace.csv", path);
  ASSERT_THAT(WriteFile(folder.path() / "run_hip_api_trace.csv", ""), IsOk());
  const Profile profile = Read(path);
  EXPECT_EQ(profile.kernels.size(), 4U);
  EXPECT_TRUE(profile.loss.truncated());
  EXPECT_THAT(profile.loss.damage, testing::HasSubstr("run_hip_api_trace.csv: the file is empty"));
}

TEST(Readers, CountEachDispatchOfACounterFileOnce) {
  const Result<Profile> profile = ReadRocprofCsv(ByteSource::FromMemory(
      "\"Correlation_Id\",\"Dispatch_Id\",\"Kernel_Name\",\"Counter_Name\",\"Start_Timestamp\","
      "\"End_Timestamp\"\n1,1,\"k<a, b>\",\"SQ_WAVES\",10,15\n1,1,\"k<a, "
      "b>\",\"SQ_BUSY\",10,15\n"));
  ASSERT_THAT(profile, IsOk());
  EXPECT_EQ(profile->kernels.size(), 1U);
  EXPECT_EQ(profile->skipped, 1U);
}

TEST(Formats, AreToldByContent) {
  EXPECT_EQ(DetectText(R"({"schemaVersion": 1, "traceEvents": []})"), ProfileFormat::kKineto);
  EXPECT_EQ(DetectText("  [ {} ]"), ProfileFormat::kKineto);
  EXPECT_EQ(DetectText(R"({"rocprofiler-sdk-tool": []})"), ProfileFormat::kRocprofJson);
  EXPECT_EQ(DetectText(R"({"schema": "1.1", "nodes": []})"), ProfileFormat::kExecutionTrace);
  // Keys of inner objects say nothing.
  EXPECT_EQ(DetectText(R"({"a": {"rocprofiler-sdk-tool": 1}, "traceEvents": []})"),
            ProfileFormat::kKineto);
  EXPECT_EQ(DetectText("Start_Timestamp,End_Timestamp\n"), ProfileFormat::kRocprofCsv);
  EXPECT_EQ(DetectText("profile,application\n"), ProfileFormat::kUnknown);
  EXPECT_EQ(DetectText(""), ProfileFormat::kUnknown);
  for (const char* name : {"a.json", "a.pt.trace.json.gz", "a.json.zst", "a.sqlite", "1_results.db",
                           "a.rpd", "x_kernel_trace.csv", "x_kernel_trace.csv.gz"}) {
    EXPECT_TRUE(IsProfileName(name)) << name;
  }
  for (const char* name : {"a.csv", "a.py", "a.nsys-rep", "x_hip_api_trace.csv"}) {
    EXPECT_FALSE(IsProfileName(name)) << name;
  }
}

TEST(Formats, TeachTheWayOut) {
  const TempDir folder = TempDir::Make("formats").value();
  const auto read = [&](std::string_view bytes) {
    EXPECT_THAT(WriteFile(folder.path() / "p", bytes), IsOk());
    return ReadProfile(folder.path() / "p");
  };
  EXPECT_THAT(read("PK\x03\x04...."), HasError(ErrorKind::kInput, "unpack"));
  EXPECT_THAT(read("NVSYblah"), HasError(ErrorKind::kInput, "nsys export --type sqlite"));
  EXPECT_THAT(read(std::string(257, 'a') + "ustar  "), HasError(ErrorKind::kInput, "tar xf"));
  EXPECT_THAT(read(Gzip(ReadFile(kData / "nsys_3_25.sqlite").value())),
              HasError(ErrorKind::kInput, "unpack it first"));
  EXPECT_THAT(ReadProfile(kData / "shapeless_et.json"),
              HasError(ErrorKind::kInput, "NAME_et.json"));
}

class PublicReaders : public PublicTraces {};

TEST_F(PublicReaders, ReproduceEveryPublishedTotalOfNsys) {
  const std::string oracle = ReadFile(shared_ / "oracle.tsv").value();
  int rows = 0;
  for (const std::string_view line : Split(oracle, '\n')) {
    const std::vector<std::string_view> columns = Split(line, '\t');
    if (columns.size() < 2 || columns[1] != "nsys") continue;
    ++rows;
    const Profile profile = Read(shared_ / std::string(columns[0]));
    const Totals t = ComputeTotals(profile);
    const std::string got =
        fmt::format("{}\tnsys\t-\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t-\t{}\t{}", columns[0], t.kernels,
                    t.names, t.sum_kernel_ns, t.union_ns, t.devices, t.memcpy, t.memcpy_ns,
                    t.kernels_no_runtime, t.graph_kernels);
    EXPECT_TRUE(line.starts_with(got)) << line << "\n" << got;
    EXPECT_FALSE(profile.loss.truncated());
    ExpectReconciled(profile);
  }
  EXPECT_EQ(rows, 4);
}

// Added up by a separate script with whole numbers.
TEST_F(PublicReaders, ReadRocprofsDocument) {
  const Profile profile = Read(shared_ / "rocprof/rocprofv3_908_results.json.gz");
  const Totals totals = ComputeTotals(profile);
  EXPECT_EQ(totals.kernels, 43915U);
  EXPECT_EQ(totals.names, 80U);
  EXPECT_EQ(totals.sum_kernel_ns, 4441741378);
  EXPECT_EQ(totals.union_ns, 4233112334);
  EXPECT_EQ(profile.device_name, "AMD Instinct MI350X");
  ExpectReconciled(profile);
}

TEST_F(PublicReaders, ReadRocprofsSheets) {
  const std::map<const char*, size_t> kernels = {
      {"kernel_trace.csv", 9},       {"kernel_trace_truncated.csv", 4},
      {"counter_collection.csv", 4}, {"memory_copy_trace.csv", 0},
      {"hip_trace.csv", 0},          {"marker_api_trace.csv", 0},
      {"rccl_trace.csv", 0},         {"rocpd-to-csv.csv", 0}};
  for (const auto& [file, count] : kernels) {
    SCOPED_TRACE(file);
    const Profile profile = Read(shared_ / "rocprof" / file);
    EXPECT_EQ(profile.format, ProfileFormat::kRocprofCsv);
    ExpectReconciled(profile);
    EXPECT_EQ(profile.loss.split, SplitLoss{});
    const std::string text = ReadFile(shared_ / "rocprof" / file).value();
    const auto lines = Split(text, '\n');
    const auto blank = std::ranges::count(lines, std::string_view());
    EXPECT_EQ(profile.events + 1, lines.size() - static_cast<size_t>(blank));
    EXPECT_EQ(profile.kernels.size(), count);
  }
}

}  // namespace
}  // namespace roofmark::trace
