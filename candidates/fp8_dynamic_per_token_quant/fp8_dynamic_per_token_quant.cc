// SPDX-License-Identifier: Apache-2.0
//
// Quantisation of rows to e4m3fnuz for a CPU: the largest element of a row, then its codes.

#include "roofmark/fp8_dynamic_per_token_quant.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

inline float ToFloat(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Codes of e4m3fnuz (bias 8): nearest, ties to even, no negative zero; |value| is at most 240.
inline uint8_t Encode(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  const uint32_t size = bits & 0x7fffffffu;
  // Normal numbers keep three bits of the significand. Below 2^-7 codes are multiples of 2^-10, and
  // 8192 + |value| has exactly that spacing.
  const float shifted = std::fabs(value) + 8192.0f;
  uint32_t subnormal;
  std::memcpy(&subnormal, &shifted, sizeof(subnormal));
  const uint32_t code = std::fabs(value) < 0.0078125f
                            ? subnormal - 0x46000000u
                            : ((size + 0x7ffffu + ((size >> 20) & 1u)) >> 20) - ((127u - 8u) << 3);
  return static_cast<uint8_t>(code != 0 ? code | (bits >> 31 << 7) : 0);
}

}  // namespace

extern "C" int run(const fp8_dynamic_per_token_quant_args* args, void* /*workspace*/,
                   void* /*stream*/) {
  const auto fp8_max = static_cast<float>(args->fp8_max);
  const auto min_scale = static_cast<float>(args->min_scale);
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  auto* codes = static_cast<uint8_t*>(args->q.data);
  auto* scales = static_cast<float*>(args->scale.data);
#pragma omp parallel for schedule(static)
  for (int64_t token = 0; token < args->tokens; ++token) {
    const uint16_t* row = x + token * args->hidden;
    uint8_t* to = codes + token * args->hidden;
    float largest = 0.0f;
    for (int64_t i = 0; i < args->hidden; ++i) {
      largest = std::max(largest, std::fabs(ToFloat(row[i])));
    }
    const float scale = std::max(largest / fp8_max, min_scale);
    for (int64_t i = 0; i < args->hidden; ++i) {
      to[i] = Encode(std::clamp(ToFloat(row[i]) / scale, -fp8_max, fp8_max));
    }
    scales[token] = scale;
  }
  return 0;
}
