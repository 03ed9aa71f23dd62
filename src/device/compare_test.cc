// SPDX-License-Identifier: Apache-2.0
#include "device/compare.h"

#include <cmath>
#include <limits>

#include "base/testing.h"

namespace roofmark::device {
namespace {

template <typename T>
Result<Comparison> CompareVectors(DType dtype, const std::vector<T>& got,
                                  const std::vector<T>& want, const Tolerance& tolerance) {
  return ComparePayloads({.dtype = dtype,
                          .elements = static_cast<int64_t>(want.size()),
                          .got = reinterpret_cast<const std::byte*>(got.data()),
                          .want = reinterpret_cast<const std::byte*>(want.data())},
                         tolerance);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
const Tolerance kLoose = {.rtol = 0.01, .atol_rms = 0.0, .rel_l2 = 1.0};

TEST(Compare, AcceptsWhatLiesWithinTheTolerance) {
  const auto found =
      CompareVectors<float>(DType::kF32, {1.005F, -2, 3}, {1, -2, 3}, {.rtol = 0.01, .rel_l2 = 1});
  ASSERT_THAT(found, IsOk());
  EXPECT_TRUE(found->within);
  EXPECT_NEAR(found->max_ratio, 0.5, 1e-4);
  EXPECT_NEAR(found->rel_l2, 0.005 / std::sqrt(14.0), 1e-6);
}

TEST(Compare, NamesTheFirstWrongElementAndCountsAll) {
  const auto found = CompareVectors<float>(DType::kF32, {1, 2.5F, 3, 9}, {1, 2, 3, 4}, kLoose);
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(found->wrong, 2);
  EXPECT_EQ(found->first_wrong, 1);
  EXPECT_EQ(found->got, 2.5);
  EXPECT_EQ(found->want, 2);
  EXPECT_FALSE(found->within);
}

TEST(Compare, AllowsAShareOfTheRootMeanSquareNearZero) {
  const std::vector<float> want = {10, -10, 10, 0};
  const Tolerance tolerance = {.rtol = 0, .atol_rms = 0.01, .rel_l2 = 1};
  EXPECT_TRUE(CompareVectors<float>(DType::kF32, {10, -10, 10, 0.08F}, want, tolerance)->within);
  EXPECT_FALSE(CompareVectors<float>(DType::kF32, {10, -10, 10, 0.1F}, want, tolerance)->within);
}

TEST(Compare, RefusesManySmallErrorsByTheWholeOutputsNorm) {
  const std::vector<float> want(1000, 1.0F);
  const std::vector<float> got(1000, 1.009F);
  const auto found =
      CompareVectors<float>(DType::kF32, got, want, {.rtol = 0.01, .atol_rms = 0, .rel_l2 = 0.005});
  EXPECT_EQ(found->wrong, 0);
  EXPECT_FALSE(found->within);
  EXPECT_NEAR(found->rel_l2, 0.009, 1e-5);
}

TEST(Compare, NanIsNeverEqualAndNeverAWildcard) {
  const auto found = CompareVectors<float>(DType::kF32, {kNan, kInf, 3}, {1, 2, 3}, kLoose);
  EXPECT_EQ(found->non_finite, 2);
  EXPECT_EQ(found->wrong, 2);
  EXPECT_FALSE(found->within);
}

TEST(Compare, ANonFiniteReferenceIsAnErrorOfTheReference) {
  EXPECT_THAT(CompareVectors<float>(DType::kF32, {1, 2}, {1, kNan}, kLoose),
              HasError(ErrorKind::kInput, "element 1 is nan"));
}

TEST(Compare, CountsElementsThatAreStillPoison) {
  const std::vector<uint16_t> want = {0x3f80, 0x3f80, 0x3f80};
  const std::vector<uint16_t> got = {0x3f80, 0xffff, 0xffff};
  const auto found = CompareVectors(DType::kBF16, got, want, kLoose);
  EXPECT_EQ(found->poisoned, 2);
  EXPECT_EQ(found->non_finite, 2);
}

TEST(Compare, DecodesEachFloatTypeByItsDefinition) {
  const Tolerance exact = {.rtol = 0, .atol_rms = 0, .rel_l2 = 0};
  const auto half = CompareVectors<uint16_t>(DType::kF16, {0x3c01}, {0x3c00}, exact);
  EXPECT_DOUBLE_EQ(half->got, 1.0 + 1.0 / 1024);
  const auto bf16 = CompareVectors<uint16_t>(DType::kBF16, {0x3f81}, {0x3f80}, exact);
  EXPECT_DOUBLE_EQ(bf16->got, 1.0 + 1.0 / 128);
  const auto fp8 = CompareVectors<uint8_t>(DType::kF8E4M3Fn, {0x39}, {0x38}, exact);
  EXPECT_DOUBLE_EQ(fp8->got, 1.125);
  EXPECT_DOUBLE_EQ(fp8->want, 1.0);
}

TEST(Compare, ZerosDoNotPassAgainstSmallValues) {
  const std::vector<float> want(100, 1e-20F);
  const std::vector<float> got(100, 0.0F);
  EXPECT_FALSE(
      CompareVectors<float>(DType::kF32, got, want, {.rtol = 0.01, .atol_rms = 0.02, .rel_l2 = 1})
          ->within);
}

TEST(Compare, AllZeroReferencesNeedExactZeros) {
  const std::vector<float> want(4, 0.0F);
  EXPECT_TRUE(CompareVectors<float>(DType::kF32, want, want, kLoose)->within);
  const auto found = CompareVectors<float>(DType::kF32, {0, 0, 0, 1e-30F}, want, kLoose);
  EXPECT_FALSE(found->within);
  EXPECT_EQ(found->max_ratio, kHopeless);
}

TEST(Compare, ExactLooksAtBits) {
  const Tolerance exact = {.kind = CompareKind::kExact};
  EXPECT_TRUE(CompareVectors<int32_t>(DType::kI32, {1, -2}, {1, -2}, exact)->within);
  const auto found = CompareVectors<int32_t>(DType::kI32, {1, -1, 3}, {1, -2, 4}, exact);
  EXPECT_EQ(found->wrong, 2);
  EXPECT_EQ(found->poisoned, 1);
}

TEST(Compare, CodesAllowAFewNeighboursOnly) {
  std::vector<uint8_t> want(100, 0x38);
  std::vector<uint8_t> got = want;
  got[3] = 0x39;
  const Tolerance tolerance = {.kind = CompareKind::kCodes, .code_slack = 0.01};
  EXPECT_TRUE(CompareVectors(DType::kF8E4M3Fn, got, want, tolerance)->within);
  got[50] = 0x37;
  const auto two = CompareVectors(DType::kF8E4M3Fn, got, want, tolerance);
  EXPECT_FALSE(two->within);
  EXPECT_EQ(two->first_wrong, 3);
  got = want;
  got[7] = 0x3a;
  EXPECT_EQ(CompareVectors(DType::kF8E4M3Fn, got, want, tolerance)->first_wrong, 7);
}

TEST(Compare, ZerosOfBothSignsAreTheSameAnswer) {
  const Tolerance exact = {.kind = CompareKind::kExact};
  EXPECT_TRUE(CompareVectors<float>(DType::kF32, {-0.0F, 1}, {0.0F, 1}, exact)->within);
  const Tolerance codes = {.kind = CompareKind::kCodes, .code_slack = 0};
  EXPECT_TRUE(CompareVectors<uint8_t>(DType::kF8E4M3Fn, {0x80}, {0x00}, codes)->within);
  EXPECT_FALSE(CompareVectors<uint8_t>(DType::kF8E4M3Fnuz, {0x80}, {0x00}, codes)->within);
}

TEST(Compare, ACodeWithThePoisonsBitsIsNoPoisonBesideItsNeighbour) {
  const Tolerance codes = {.kind = CompareKind::kCodes, .code_slack = 1};
  const auto near = CompareVectors<uint8_t>(DType::kF8E4M3Fnuz, {0xff}, {0xfe}, codes);
  EXPECT_TRUE(near->within);
  EXPECT_EQ(near->poisoned, 0);
  EXPECT_EQ(CompareVectors<uint8_t>(DType::kF8E4M3Fnuz, {0xff}, {0x10}, codes)->poisoned, 1);
}

TEST(Compare, CodesAreForFp8) {
  EXPECT_THAT(
      CompareVectors<float>(DType::kF32, {1}, {1}, {.kind = CompareKind::kCodes, .code_slack = 0}),
      HasError(ErrorKind::kInput, "not for f32"));
}

TEST(Compare, EmptyOutputsAreEqual) {
  EXPECT_TRUE(CompareVectors<float>(DType::kF32, {}, {}, kLoose)->within);
}

}  // namespace
}  // namespace roofmark::device
