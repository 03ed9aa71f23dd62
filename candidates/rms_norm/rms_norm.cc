// SPDX-License-Identifier: Apache-2.0
//
// A fast RMSNorm for a CPU: sixteen independent sums that the compiler keeps in vector registers,
// and rows shared among threads once there are enough of them to pay for waking these.

#include "roofmark/rms_norm.h"

#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

constexpr int kLanes = 16;
constexpr int64_t kElementsWorthThreads = 1 << 18;

inline float ToFloat(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest bfloat16, ties to even; the values here are finite.
inline uint16_t ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float SumOfSquares(const uint16_t* x, int64_t size) {
  float lanes[kLanes] = {};
  const int64_t whole = size / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const float value = ToFloat(x[i + lane]);
      lanes[lane] += value * value;
    }
  }
  float sum = 0.0f;
  for (const float lane : lanes) sum += lane;
  for (int64_t i = whole; i < size; ++i) sum += ToFloat(x[i]) * ToFloat(x[i]);
  return sum;
}

void NormRow(const uint16_t* __restrict x, const uint16_t* __restrict weight,
             uint16_t* __restrict out, int64_t hidden, float eps) {
  const float mean = SumOfSquares(x, hidden) / static_cast<float>(hidden);
  const float factor = 1.0f / std::sqrt(mean + eps);
  for (int64_t i = 0; i < hidden; ++i) out[i] = ToBf16(ToFloat(x[i]) * factor * ToFloat(weight[i]));
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  const int64_t hidden = args->hidden;
  const auto eps = static_cast<float>(args->eps);
  if (args->tokens * hidden < kElementsWorthThreads) {
    for (int64_t row = 0; row < args->tokens; ++row) {
      NormRow(x + row * hidden, weight, out + row * hidden, hidden, eps);
    }
    return 0;
  }
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < args->tokens; ++row) {
    NormRow(x + row * hidden, weight, out + row * hidden, hidden, eps);
  }
  return 0;
}
