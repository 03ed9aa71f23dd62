// SPDX-License-Identifier: Apache-2.0
// What mining takes at its peak, in a process of its own: a part that does not depend on the
// profile, and a part for each record that is kept, however large the file.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/testing.h"
#include "trace/replicate.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

constexpr int64_t kFixed = 8 << 20;
constexpr int64_t kPerRecord = 60;

struct Peak {
  int64_t bytes = 0;  // more than before
  int64_t records = 0;
};

// A line of /proc/self/status in bytes.
int64_t StatusBytes(std::string_view key) {
  const std::string status = ReadFile("/proc/self/status").value();
  const size_t at = status.find(key);
  return at == std::string::npos ? 0 : std::atoll(status.c_str() + at + key.size()) * 1024;
}

Peak PeakOfMining(const fs::path& path) {
  const Rules rules = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules").value();
  int ends[2];
  Peak peak;
  if (::pipe(ends) != 0) return peak;
  const pid_t child = ::fork();
  if (child == 0) {
    const int64_t before = StatusBytes("VmRSS:");
    const auto summary = MineProfile(path, rules);
    if (summary) {
      peak = {StatusBytes("VmHWM:") - before, summary->json.Find("records")->as_int()};
    }
    const bool written = ::write(ends[1], &peak, sizeof(peak)) == sizeof(peak);
    ::_exit(written ? 0 : 1);
  }
  const bool read = ::read(ends[0], &peak, sizeof(peak)) == sizeof(peak);
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return read && status == 0 ? peak : Peak{};
}

class MiningMemory : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's memory is not mining's";
#endif
  }
  fs::path Replica(const char* original, const char* name, uint64_t bytes) {
    const fs::path made = folder_.path() / name;
    const auto result = ReplicateProfile(
        fs::path(ROOFMARK_SOURCE_DIR) / "examples/profiles" / original, made, {.bytes = bytes});
    EXPECT_THAT(result, IsOk());
    return made;
  }
  TempDir folder_ = TempDir::Make("memory").value();
};

TEST_F(MiningMemory, Is60BytesForEachRecordThatIsKept) {
  const Peak peak = PeakOfMining(Replica("moe_prefill.json.gz", "eager.json", 120 << 20));
  EXPECT_GT(peak.records, 200000);
  EXPECT_LT(peak.bytes, kFixed + kPerRecord * peak.records);
}

TEST_F(MiningMemory, DoesNotDependOnCompression) {
  const Peak plain = PeakOfMining(Replica("dense_decode.json.gz", "a.json", 30 << 20));
  const Peak packed = PeakOfMining(Replica("dense_decode.json.gz", "a.json.gz", 30 << 20));
  EXPECT_EQ(plain.records, packed.records);
  EXPECT_GT(plain.records, 0);
  EXPECT_LT(packed.bytes, kFixed + kPerRecord * packed.records);
}

// A replayed graph's nodes are kernels without calls or operators: nothing smaller makes up for
// them.
TEST_F(MiningMemory, OfReplayedGraphsIsNoMore) {
  const Peak peak = PeakOfMining(Replica("moe_decode_graph.json.gz", "graph.json", 400 << 20));
  EXPECT_GT(peak.records, 700000);
  EXPECT_LT(peak.bytes, kFixed + kPerRecord * peak.records);
}

// With the capture of the graphs each replay has operators, and calls of its own.
TEST_F(MiningMemory, OfReplayedGraphsWithTheirCaptureIsNoMore) {
  fs::copy_file(
      fs::path(ROOFMARK_SOURCE_DIR) / "examples/profiles/moe_decode_graph_capture.json.gz",
      folder_.path() / "graph_capture.json.gz");
  const Peak peak = PeakOfMining(Replica("moe_decode_graph.json.gz", "graph.json", 120 << 20));
  EXPECT_GT(peak.records, 150000);
  EXPECT_LT(peak.bytes, kFixed + kPerRecord * peak.records);
}

}  // namespace
}  // namespace roofmark::trace
