// SPDX-License-Identifier: Apache-2.0
// Public profiles in every form in which tools store them, and damaged at every 4 KiB: the same
// integers from each form, and never more from a part than from the whole.
#include <algorithm>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/testing.h"
#include "base/text.h"
#include "trace/byte_source.h"
#include "trace/fuzz_checks.h"
#include "trace/gzip_for_tests.h"
#include "trace/profile.h"
#include "trace/public_traces_for_tests.h"
#include "trace/totals.h"

namespace roofmark::trace {
namespace {

class PublicVariants : public PublicTraces {};

std::string Inflated(const fs::path& path) {
  ByteSource source = ByteSource::OpenFile(path).value();
  std::string text;
  std::string block(1 << 20, '\0');
  while (true) {
    const size_t got = source.Read(block.data(), block.size()).value();
    if (got == 0) return text;
    text.append(block, 0, got);
  }
}

Profile Parse(std::string_view text) {
  Result<Profile> profile = ReadProfile(ByteSource::FromMemory(text));
  EXPECT_THAT(profile, IsOk());
  return std::move(profile).value_or(Profile{});
}

// What does not depend on the order of the events.
bool SameTotals(const Profile& left, const Profile& right) {
  const Totals a = ComputeTotals(left);
  const Totals b = ComputeTotals(right);
  return a.events == b.events && a.kernels == b.kernels && a.names == b.names &&
         a.sum_kernel_ns == b.sum_kernel_ns && a.union_ns == b.union_ns && a.devices == b.devices &&
         a.memcpy == b.memcpy && a.memcpy_ns == b.memcpy_ns && a.python_events == b.python_events &&
         a.kernels_no_runtime == b.kernels_no_runtime && a.graph_kernels == b.graph_kernels &&
         a.graph_ns == b.graph_ns && a.kernels_extid_op == b.kernels_extid_op &&
         a.shaped_ns == b.shaped_ns && a.kernels_extid_eq_corr == b.kernels_extid_eq_corr &&
         a.user_annotations == b.user_annotations && left.base_ns == right.base_ns &&
         a.corr_ids_with_many_kernels == b.corr_ids_with_many_kernels;
}

void Shuffle(Json& tree, Random& random) {
  for (Json::Member& member : tree.object()) {
    if (member.first != "traceEvents") continue;
    Json::Array& events = member.second.array();
    for (size_t i = events.size(); i > 1; --i) std::swap(events[i - 1], events[random.Below(i)]);
  }
  std::ranges::reverse(tree.object());
}

TEST_F(PublicVariants, GiveTheSameTotalsInEveryForm) {
  constexpr size_t kLargest = 4 << 20;  // a tree of a larger one takes seconds
  const std::string oracle = ReadFile(shared_ / "oracle.tsv").value();
  Random random(11);
  int files = 0;
  for (const std::string_view line : Split(oracle, '\n')) {
    const std::vector<std::string_view> columns = Split(line, '\t');
    if (columns.size() < 2 || columns[1] != "kineto") continue;
    SCOPED_TRACE(columns[0]);
    const std::string text = Inflated(shared_ / std::string(columns[0]));
    if (text.size() > kLargest) continue;
    const Profile packed = Parse(Gzip(text));
    EXPECT_TRUE(SameTotals(Parse(text), packed));
    Result<Json> tree = Json::Parse(text);
    if (!tree || !tree->is_object()) continue;
    ++files;
    EXPECT_TRUE(SameTotals(Parse(tree->Dump()), packed));
    EXPECT_TRUE(SameTotals(Parse(tree->Dump(2)), packed));
    Shuffle(*tree, random);
    EXPECT_TRUE(SameTotals(Parse(tree->Dump(1)), packed));
  }
  EXPECT_GE(files, 8);
}

TEST_F(PublicVariants, SurviveTruncationAtEvery4KiB) {
  for (const char* path :
       {"kineto_rocm/vllm_decode_full_graph/graph_execution.json.gz",
        "sglang_decode_b300_vs_mi300/deepseek_r1_B300-TP-0-DECODE.trace.json.gz"}) {
    const std::string text = Inflated(shared_ / path);
    const uint64_t kernels = Parse(text).kernels.size();
    for (size_t size = 4096; size < text.size(); size += 4096) {
      const std::string part = text.substr(0, size);
      const Result<Profile> profile = ReadProfile(ByteSource::FromMemory(part));
      if (!profile) continue;  // before the events begin
      EXPECT_TRUE(profile->loss.truncated()) << size;
      EXPECT_LE(profile->kernels.size(), kernels);
      CheckProfile(*profile);
    }
  }
}

}  // namespace
}  // namespace roofmark::trace
