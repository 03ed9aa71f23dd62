// SPDX-License-Identifier: Apache-2.0
// The released speed-of-light times, recomputed from the released work and traffic with our cards.
// That our formulas give the same work and traffic is suite_test's part of the claim.
#include <cmath>

#include "base/files.h"
#include "base/testing.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"

namespace roofmark::roofline {
namespace {

// Released times are in microseconds with six decimals.
constexpr double kRoundingUs = 0.5e-6;

Published ReadFigures(const Json& row, const char* work, const char* read, const char* write) {
  Published published{.read_bytes = row.Find(read)->as_double(),
                      .write_bytes = row.Find(write)->as_double(),
                      .present = true};
  for (const auto& [dtype, ops] : row.Find(work)->object()) published.work[dtype] = ops.as_double();
  return published;
}

int ExpectReleasedTimes(const Published& published, const Json& sol_us, const std::string& place) {
  const auto cards = ReadDevices(fs::path(ROOFMARK_SOURCE_DIR) / "devices");
  const Operator op{.name = place};
  const Workload workload{.op = &op, .shape = {.id = "0", .published = published}};
  int compared = 0;
  for (const auto& [device, released] : sol_us.object()) {
    const auto sol = ComputePublishedSol(workload, *FindDevice(*cards, device));
    EXPECT_THAT(sol, IsOk());
    EXPECT_NEAR(sol->sol_ns / 1000, released.as_double(),
                0.001 * released.as_double() + kRoundingUs)
        << place << " on " << device;
    ++compared;
  }
  return compared;
}

TEST(PublishedSol, OfAllShippedShapesIsReproducedOnBothDevices) {
  int compared = 0;
  const auto folders = ListFolder(fs::path(ROOFMARK_SOURCE_DIR) / "operators");
  ASSERT_THAT(folders, IsOk());
  for (const fs::path& folder : *folders) {
    const auto lines = ReadJsonLines(folder / "shapes.jsonl");
    ASSERT_THAT(lines, IsOk());
    for (const Json& line : *lines) {
      const Json* row = line.Find("published");
      if (row == nullptr) continue;
      compared += ExpectReleasedTimes(
          ReadFigures(*row, "w_flops", "q_read", "q_write"), *row->Find("sol_us"),
          folder.filename().string() + "/" + line.Find("id")->as_string());
    }
  }
  EXPECT_EQ(compared, 2 * 440);
}

TEST(PublishedSol, OfAllReleasedShapesIsReproducedOnBothDevices) {
  const fs::path shared = SharedFolder(ROOFMARK_SOURCE_DIR);
  if (shared.empty()) GTEST_SKIP() << "the released facts are not here (set ROOFMARK_SHARED)";
  const auto lines = ReadJsonLines(shared / "facts" / "shapes.jsonl");
  ASSERT_THAT(lines, IsOk());
  int compared = 0;
  for (const Json& line : *lines) {
    compared += ExpectReleasedTimes(
        ReadFigures(line, "W_flops", "Q_read", "Q_write"), *line.Find("SOL_us"),
        line.Find("operator")->as_string() + "/" + line.Find("shape")->as_string());
  }
  EXPECT_EQ(compared, 2 * 440);
}

}  // namespace
}  // namespace roofmark::roofline
