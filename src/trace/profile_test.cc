// SPDX-License-Identifier: Apache-2.0
// The reader's promise: the same integers from the same profile, however it was stored.
#include "trace/profile.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "base/text.h"
#include "trace/gzip_for_tests.h"
#include "trace/totals.h"

namespace roofmark::trace {
namespace {

const fs::path kSample = fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata/two_steps.json";

std::string SampleText() {
  return ReadFile(kSample).value();
}

Profile Parse(std::string_view text) {
  Result<Profile> profile = ReadProfile(ByteSource::FromMemory(text));
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value_or(Profile{});
}

// testdata/two_steps.json was added up by hand and by a separate script in decimal arithmetic.
void ExpectSampleTotals(const Profile& profile) {
  const Totals totals = ComputeTotals(profile);
  EXPECT_EQ(totals.events, 42U);
  EXPECT_EQ(totals.kernels, 13U);
  EXPECT_EQ(totals.names, 10U);
  EXPECT_EQ(totals.sum_kernel_ns, 105965);
  EXPECT_EQ(totals.union_ns, 101965);
  EXPECT_EQ(totals.devices, 1U);
  EXPECT_EQ(totals.memcpy, 1U);
  EXPECT_EQ(totals.memcpy_ns, 1216);
  EXPECT_EQ(totals.python_events, 2U);
  EXPECT_EQ(totals.kernels_no_runtime, 1U);
  EXPECT_EQ(totals.graph_kernels, 6U);
  EXPECT_EQ(totals.graph_ns, 33000);
  EXPECT_EQ(totals.kernels_extid_op, 4U);
  EXPECT_EQ(totals.kernels_extid_op_shaped, 4U);
  EXPECT_EQ(totals.shaped_ns, 38458);
  EXPECT_EQ(totals.kernels_extid_eq_corr, 0U);
  EXPECT_EQ(totals.user_annotations, 2U);
  EXPECT_EQ(totals.neg_dur, 0U);
  EXPECT_EQ(totals.corr_ids_with_many_kernels, 1U);
  EXPECT_EQ(profile.base_ns, 1767189312000000000);
  EXPECT_EQ(profile.device_name, "Example GPU");
  EXPECT_EQ(profile.rank, 3);
  EXPECT_TRUE(profile.shapes_recorded);
  EXPECT_EQ(profile.loss.split, SplitLoss{});
}

// The sample as a tree; its one infinity, which JSON lacks, becomes null.
Json SampleTree() {
  std::string text = SampleText();
  const size_t at = text.find(": inf");
  text.replace(at, 5, ": null");
  return Json::Parse(text).value();
}

Json& EventsOf(Json& tree) {
  for (Json::Member& member : tree.object()) {
    if (member.first == "traceEvents") return member.second;
  }
  ADD_FAILURE() << "no events";
  return tree;
}

TEST(ProfileReader, ReadsKinetosOwnLayout) {
  const std::string text = SampleText();
  const Profile profile = Parse(text);
  ExpectSampleTotals(profile);
  EXPECT_EQ(profile.bytes, text.size());
}

TEST(ProfileReader, ReadsOneLine) {
  ExpectSampleTotals(Parse(SampleTree().Dump()));
}

TEST(ProfileReader, ReadsOtherIndentations) {
  for (int indent = 0; indent <= 8; ++indent) {
    SCOPED_TRACE(indent);
    ExpectSampleTotals(Parse(SampleTree().Dump(indent)));
  }
}

TEST(ProfileReader, ReadsABareArrayOfEvents) {
  Json tree = SampleTree();
  const Totals totals = ComputeTotals(Parse(EventsOf(tree).Dump()));
  EXPECT_EQ(totals.events, 42U);
  EXPECT_EQ(totals.union_ns, 101965);
}

TEST(ProfileReader, ReadsEventsAndKeysInAnyOrder) {
  Random random(7);
  for (int round = 0; round < 20; ++round) {
    Json tree = SampleTree();
    const auto shuffle = [&](auto& items) {
      for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[random.Below(i)]);
    };
    shuffle(tree.object());
    shuffle(EventsOf(tree).array());
    for (Json& event : EventsOf(tree).array()) shuffle(event.object());
    ExpectSampleTotals(Parse(tree.Dump(round % 4 - 1)));
  }
}

TEST(ProfileReader, ReadsGzipWhateverTheFileIsCalled) {
  const std::string packed = Gzip(SampleText());
  ExpectSampleTotals(Parse(packed));
  const TempDir folder = TempDir::Make("profile").value();
  ASSERT_THAT(WriteFile(folder.path() / "p.json", packed), IsOk());
  Result<Profile> profile = ReadProfile(folder.path() / "p.json");
  ASSERT_THAT(profile, IsOk());
  ExpectSampleTotals(*profile);
  EXPECT_EQ(profile->stored_bytes, packed.size());
}

TEST(ProfileReader, ReadsGzipOfSeveralMembers) {
  const std::string text = SampleText();
  std::string packed;
  for (size_t at = 0; at < text.size(); at += 1000) packed += Gzip(text.substr(at, 1000));
  const Profile profile = Parse(packed + std::string(512, '\0'));
  ExpectSampleTotals(profile);
  EXPECT_EQ(profile.loss.damage, "");
}

std::string Zstd(std::string_view text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

TEST(ProfileReader, ReadsZstdOfSeveralFrames) {
  const std::string text = SampleText();
  ExpectSampleTotals(Parse(Zstd(text)));
  // A skippable frame, as parallel compressors write them, then one frame a piece.
  std::string packed("\x50\x2a\x4d\x18\x04\0\0\0abcd", 12);
  for (size_t at = 0; at < text.size(); at += 1000) packed += Zstd(text.substr(at, 1000));
  const Profile profile = Parse(packed);
  ExpectSampleTotals(profile);
  EXPECT_EQ(profile.loss.damage, "");
}

TEST(ProfileReader, KeepsWhatADamagedZstdStillHolds) {
  const std::string text = SampleText();
  std::string packed = Zstd(text.substr(0, 6000)) + Zstd(text.substr(6000));
  packed.resize(packed.size() - 100);
  const Profile profile = Parse(packed);
  EXPECT_TRUE(profile.loss.truncated());
  EXPECT_THAT(profile.loss.damage, testing::HasSubstr("ends early"));
  EXPECT_GT(profile.events, 5U);
}

TEST(ProfileReader, KeepsWhatADamagedGzipStillHolds) {
  const std::string text = SampleText();
  std::string packed = Gzip(text);
  packed.resize(packed.size() / 2);
  const Profile profile = Parse(packed);
  EXPECT_TRUE(profile.loss.truncated());
  EXPECT_THAT(profile.loss.damage, testing::HasSubstr("ends early"));
  EXPECT_GT(profile.events, 5U);
  EXPECT_LT(profile.events, 42U);
}

// Calls that launch nothing are left out, unless a kernel knows no other.
TEST(ProfileReader, KeepsIdleCallsOnlyForKernelsThatNameThem) {
  const auto call = [](const char* name, int id) {
    return std::string(R"({"ph": "X", "cat": "cuda_runtime", "name": ")") + name +
           R"(", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"correlation": )" +
           std::to_string(id) + "}}";
  };
  const auto kernel = [](int id) {
    return std::string(
               R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 9, )") +
           R"("dur": 1, "args": {"correlation": )" + std::to_string(id) + "}}";
  };
  const std::string usual =
      fmt::format("[{}, {}, {}]", call("cudaGetDevice", 1), call("cudaLaunchKernel", 2), kernel(2));
  EXPECT_EQ(Parse(usual).calls.size(), 1U);
  const std::string odd = fmt::format("[{}, {}, {}, {}]", call("cudaGetDevice", 1),
                                      call("cudaLaunchKernel", 2), kernel(2), kernel(1));
  for (const std::string& text : {odd, Gzip(odd)}) {
    const Profile profile = Parse(text);
    EXPECT_EQ(profile.calls.size(), 2U);
    EXPECT_EQ(profile.events, 4U);
    EXPECT_EQ(ComputeTotals(profile).kernels_no_runtime, 0U);
  }
}

TEST(ProfileReader, HasTheSameHashPlainPackedAndReindented) {
  const std::string hash = ContentHash(Parse(SampleText()));
  EXPECT_EQ(ContentHash(Parse(Gzip(SampleText()))), hash);
  EXPECT_EQ(ContentHash(Parse(SampleTree().Dump(1))), hash);
  std::string other = SampleText();
  other.replace(other.find("6.125"), 5, "6.126");
  EXPECT_NE(ContentHash(Parse(other)), hash);
}

TEST(ProfileReader, RefusesWhatIsNoProfile) {
  const auto read = [](std::string_view text) { return ReadProfile(ByteSource::FromMemory(text)); };
  EXPECT_THAT(read(""), HasError(ErrorKind::kInput, "empty"));
  EXPECT_THAT(read("  \n "), HasError(ErrorKind::kInput, "empty"));
  EXPECT_THAT(read("hello"), HasError(ErrorKind::kInput, "neither"));
  EXPECT_THAT(read("{\"nodes\": [1, 2]}"), HasError(ErrorKind::kInput, "no traceEvents"));
  EXPECT_THAT(read("[{\"file\": \"a\", \"mode\": \"FULL\"}]"),
              HasError(ErrorKind::kInput, "none has a 'ph'"));
  EXPECT_THAT(ReadProfile(fs::path("/nowhere/p.json")), HasError(ErrorKind::kNotFound, "p.json"));
}

TEST(ProfileReader, AcceptsProfilesWithoutEvents) {
  EXPECT_EQ(Parse("{\"traceEvents\": []}").events, 0U);
  EXPECT_EQ(Parse("[]").events, 0U);
  EXPECT_EQ(Parse("{\"traceEvents\": [], \"baseTimeNanoseconds\": 12}").base_ns, 12);
}

}  // namespace
}  // namespace roofmark::trace
