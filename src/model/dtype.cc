// SPDX-License-Identifier: Apache-2.0
#include "model/dtype.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/check.h"

namespace roofmark {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<Row, 8> kRows = {{{DType::kF32, "f32", 4},
                                       {DType::kF16, "f16", 2},
                                       {DType::kBF16, "bf16", 2},
                                       {DType::kF8E4M3Fn, "f8_e4m3fn", 1},
                                       {DType::kF8E4M3Fnuz, "f8_e4m3fnuz", 1},
                                       {DType::kI32, "i32", 4},
                                       {DType::kI64, "i64", 8},
                                       {DType::kU8, "u8", 1}}};

const Row& RowOf(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return row;
  }
  CheckFailed(__FILE__, __LINE__, "dtype is in the table");
}

template <typename T>
T Load(const void* bits) {
  T value;
  std::memcpy(&value, bits, sizeof value);
  return value;
}

double DecodeHalf(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int mantissa = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
  if (exponent == 31) {
    return mantissa != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  return sign *
         (exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25));
}

double DecodeFp8(uint8_t bits, int bias, bool is_nan) {
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  const int exponent = (bits >> 3) & 15;
  const int mantissa = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1.0 : 1.0;
  return sign * (exponent == 0 ? std::ldexp(mantissa, -2 - bias)
                               : std::ldexp(8 + mantissa, exponent - bias - 3));
}

}  // namespace

std::string_view DTypeName(DType dtype) {
  return RowOf(dtype).name;
}

int64_t DTypeBytes(DType dtype) {
  return RowOf(dtype).bytes;
}

Result<DType> ParseDType(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return Fail(
      ErrorKind::kInput,
      fmt::format("'{}' is not a dtype (f32 f16 bf16 f8_e4m3fn f8_e4m3fnuz i32 i64 u8)", name));
}

bool IsFloat(DType dtype) {
  return dtype != DType::kI32 && dtype != DType::kI64 && dtype != DType::kU8;
}

double DecodeElement(DType dtype, const void* bits) {
  switch (dtype) {
    case DType::kF32:
      return static_cast<double>(Load<float>(bits));
    case DType::kF16:
      return DecodeHalf(Load<uint16_t>(bits));
    case DType::kBF16:
      return static_cast<double>(std::bit_cast<float>(uint32_t{Load<uint16_t>(bits)} << 16));
    case DType::kF8E4M3Fn: {
      const auto code = Load<uint8_t>(bits);
      return DecodeFp8(code, 7, (code & 0x7f) == 0x7f);
    }
    case DType::kF8E4M3Fnuz: {
      const auto code = Load<uint8_t>(bits);
      return DecodeFp8(code, 8, code == 0x80);
    }
    case DType::kI32:
      return Load<int32_t>(bits);
    case DType::kI64:
      return static_cast<double>(Load<int64_t>(bits));
    case DType::kU8:
      return Load<uint8_t>(bits);
  }
  CheckFailed(__FILE__, __LINE__, "dtype is in the enumeration");
}

}  // namespace roofmark
