// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "base/testing.h"
#include "model/dtype.h"
#include "model/shape.h"
#include "model/verdict.h"

namespace roofmark {
namespace {

TEST(DType, DecodesTheCornersOfEachFormat) {
  const uint8_t max_fn = 0x7e;
  const uint8_t nan_fn = 0x7f;
  const uint8_t max_fnuz = 0x7f;
  const uint8_t nan_fnuz = 0x80;
  const uint16_t bf16 = 0x3fc0;
  const uint16_t half_subnormal = 1;
  EXPECT_EQ(DecodeElement(DType::kF8E4M3Fn, &max_fn), 448);
  EXPECT_TRUE(std::isnan(DecodeElement(DType::kF8E4M3Fn, &nan_fn)));
  EXPECT_EQ(DecodeElement(DType::kF8E4M3Fnuz, &max_fnuz), 240);
  EXPECT_TRUE(std::isnan(DecodeElement(DType::kF8E4M3Fnuz, &nan_fnuz)));
  EXPECT_EQ(DecodeElement(DType::kBF16, &bf16), 1.5);
  EXPECT_EQ(DecodeElement(DType::kF16, &half_subnormal), std::ldexp(1, -24));
}

TEST(Axes, ExpandRunLengthListsAndRefuseNonsense) {
  const auto axes =
      AxesFromJson(*Json::Parse(R"({"lens": {"rle": [[256, 3], [7, 1]]}, "eps": 1e-6})"));
  ASSERT_THAT(axes, IsOk());
  EXPECT_EQ(AxesToJson(*axes).Dump(), R"({"eps": 1e-06, "lens": [256, 256, 256, 7]})");
  EXPECT_THAT(AxesFromJson(*Json::Parse(R"({"lens": {"rle": [[1, 99999999999]]}})")),
              HasError(ErrorKind::kInput, "2^24"));
  EXPECT_THAT(AxesFromJson(*Json::Parse(R"({"m": -1})")), HasError(ErrorKind::kInput, "'m'"));
}

TEST(Adoption, LeavesOutRuntimeHelpersAndCountsTheUnknownAgainst) {
  Shares shares{};
  shares[static_cast<size_t>(Owner::kOwn)] = 0.6;
  shares[static_cast<size_t>(Owner::kRuntime)] = 0.2;
  shares[static_cast<size_t>(Owner::kUnknown)] = 0.2;
  EXPECT_DOUBLE_EQ(Adoption(shares), 0.75);
  EXPECT_DOUBLE_EQ(Adoption(Shares{}), 0);
}

TEST(Verdict, SurvivesJson) {
  Verdict verdict{.operator_name = "rms_norm", .shape = "0", .candidate = "x.cc", .device = "H200"};
  verdict.outcome = Outcome::kUnstable;
  verdict.time_ns = Interval{.median = 2, .low = 1, .high = 3};
  verdict.samples_ns = {1, 2, 3};
  verdict.shares = Shares{1};
  verdict.mode = Mode::kGraph;
  verdict.launch_bound = true;
  verdict.fitness = {{.name = "cuda_graph", .answer = FitnessItem::Answer::kYes, .why = "because"}};
  const auto back = VerdictFromJson(VerdictToJson(verdict, Samples::kInclude));
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(VerdictToJson(*back, Samples::kInclude), VerdictToJson(verdict, Samples::kInclude));
}

TEST(Verdict, RefusesAnOutcomeOutsideTheSet) {
  Json json = VerdictToJson(Verdict{}, Samples::kOmit);
  json.Set("outcome", "great");
  EXPECT_THAT(VerdictFromJson(json), HasError(ErrorKind::kInput, "'great' is not a outcome"));
}

}  // namespace
}  // namespace roofmark
