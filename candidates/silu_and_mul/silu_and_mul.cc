// SPDX-License-Identifier: Apache-2.0
//
// SiLU-and-multiply for a CPU. The exponential is a polynomial without branches or calls, so that
// the compiler can vectorise the whole loop.

#include "roofmark/silu_and_mul.h"

#include <cstdint>
#include <cstring>

namespace {

constexpr int64_t kElementsWorthThreads = 1 << 17;

template <typename To, typename From>
inline To Bits(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

inline float ToFloat(uint16_t bf16) {
  return Bits<float>(static_cast<uint32_t>(bf16) << 16);
}

// To the nearest bfloat16, ties to even; the values here are finite.
inline uint16_t ToBf16(float value) {
  const auto bits = Bits<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// exp(x) within 2e-7 of its value for |x| <= 80, where it stays normal; outside it saturates, which
// moves silu by less than 1e-32. x = (n + f) ln 2 with |f| <= 1/2, then Taylor's series of 2^f.
inline float Exp(float x) {
  x = x > 80.0f ? 80.0f : x;
  x = x < -80.0f ? -80.0f : x;
  const float scaled = x * 1.44269504f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it leaves the nearest integer
  const float rounded = (scaled + kRound) - kRound;
  const float f = (scaled - rounded) * 0.693147181f;
  float series = 1.0f / 5040.0f;
  series = series * f + 1.0f / 720.0f;
  series = series * f + 1.0f / 120.0f;
  series = series * f + 1.0f / 24.0f;
  series = series * f + 1.0f / 6.0f;
  series = series * f + 0.5f;
  series = series * f + 1.0f;
  series = series * f + 1.0f;
  const auto power = Bits<float>((static_cast<int32_t>(rounded) + 127) << 23);
  return series * power;
}

void GateRow(const uint16_t* __restrict x, uint16_t* __restrict out, int64_t width) {
  for (int64_t i = 0; i < width; ++i) {
    const float gate = ToFloat(x[i]);
    out[i] = ToBf16(gate / (1.0f + Exp(-gate)) * ToFloat(x[width + i]));
  }
}

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  const int64_t width = args->width;
  if (args->rows * width < kElementsWorthThreads) {
    for (int64_t row = 0; row < args->rows; ++row) {
      GateRow(x + row * 2 * width, out + row * width, width);
    }
    return 0;
  }
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < args->rows; ++row) {
    GateRow(x + row * 2 * width, out + row * width, width);
  }
  return 0;
}
