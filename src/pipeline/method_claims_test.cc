// SPDX-License-Identifier: Apache-2.0
// What docs/method.md claims about the published shapes, recomputed: a card or formula that changes
// must change the document too.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/testing.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

// Our SOL time over the released one, and what binds ours.
struct Change {
  std::string id;
  double ratio = 0;
  std::string bound_by;
  bool changed() const { return ratio < 0.999 || ratio > 1.001; }
};

class MethodDocument : public testing::Test {
 protected:
  std::vector<Change> Changes(const std::string& op, const char* device) {
    const fs::path root = ROOFMARK_SOURCE_DIR;
    const auto cards = roofline::ReadDevices(root / "devices");
    EXPECT_THAT(cards, IsOk());
    const DeviceCard& card = *roofline::FindDevice(*cards, device);
    const auto suite = suite::MakeSuite(*suite::ReadOperators(root / "operators"),
                                        {.operators = {op}, .tiers = {Tier::kPublished}});
    EXPECT_THAT(suite, IsOk());
    std::vector<Change> changes;
    for (const Workload& workload : suite->workloads) {
      const auto released = roofline::ComputePublishedSol(workload, card);
      const auto ours = roofline::ComputeSol(workload, card, roofline::CeilingKind::kDatasheet,
                                             roofline::LaunchFloor::kWithout);
      changes.push_back({workload.shape.id, ours.sol_ns / released->sol_ns, ours.bound_by});
    }
    return changes;
  }

  static std::vector<std::string> Changed(const std::vector<Change>& changes) {
    std::vector<std::string> ids;
    for (const Change& change : changes) {
      if (change.changed()) ids.push_back(change.id);
    }
    return ids;
  }

  static int64_t BoundBy(const std::vector<Change>& changes, std::string_view name) {
    return std::ranges::count(changes, name, &Change::bound_by);
  }
};

TEST_F(MethodDocument, MemoryBindsEveryPublishedNormAndGateOnEveryCard) {
  for (const char* device : {"H20", "XPU-A", "H100", "H200", "B200", "MI300X", "MI355X"}) {
    for (const char* op : {"rms_norm", "silu_and_mul"}) {
      const auto changes = Changes(op, device);
      EXPECT_THAT(Changed(changes), testing::IsEmpty()) << op << " on " << device;
      EXPECT_EQ(BoundBy(changes, "memory"), static_cast<int64_t>(changes.size()));
    }
  }
}

TEST_F(MethodDocument, ExponentialsBindThreePublishedAttentionShapesOnB200Alone) {
  for (const char* device : {"H20", "XPU-A", "H100", "H200", "MI300X", "MI355X"}) {
    EXPECT_THAT(Changed(Changes("unified_attention", device)), testing::IsEmpty()) << device;
  }
  const auto changes = Changes("unified_attention", "B200");
  EXPECT_THAT(Changed(changes), testing::ElementsAre("5", "6", "22"));
  for (const Change& change : changes) {
    if (!change.changed()) continue;
    EXPECT_EQ(change.bound_by, "special");
    EXPECT_NEAR(change.ratio, 1.485, 0.08);
  }
}

TEST_F(MethodDocument, ScalingOnVectorsShortensTheBlockScaledProductByOnePercent) {
  const std::map<const char*, size_t> expected = {
      {"H20", 24}, {"XPU-A", 24}, {"H200", 22}, {"B200", 22}, {"MI300X", 22}};
  for (const auto& [device, count] : expected) {
    const auto changes = Changes("block_scaled_mm", device);
    EXPECT_EQ(Changed(changes).size(), count) << device;
    for (const Change& change : changes) {
      if (!change.changed()) continue;
      EXPECT_GE(change.ratio, 1 - 0.0115) << device << " " << change.id;
      EXPECT_LE(change.ratio, 1 - 0.0113) << device << " " << change.id;
    }
  }
}

TEST_F(MethodDocument, AttentionIsBoundByMatrixUnitsOnXpuAAndMostlyByMemoryOnH200) {
  EXPECT_EQ(BoundBy(Changes("unified_attention", "XPU-A"), "tensor_bf16"), 22);
  EXPECT_EQ(BoundBy(Changes("unified_attention", "H200"), "tensor_bf16"), 9);
}

}  // namespace
}  // namespace roofmark::pipeline
