// SPDX-License-Identifier: Apache-2.0
//
// RMSNorm for a CPU as one would first write it: three plain loops. The seed that `optimize`
// improves.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "roofmark/rms_norm.h"

namespace {

float ToFloat(uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest bfloat16, ties to even; the values here are finite.
uint16_t ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  for (int64_t row = 0; row < args->tokens; ++row) {
    float sum = 0.0f;
    for (int64_t i = 0; i < args->hidden; ++i) {
      const float value = ToFloat(x[row * args->hidden + i]);
      sum += value * value;
    }
    const float mean = sum / static_cast<float>(args->hidden);
    const float factor = 1.0f / std::sqrt(mean + static_cast<float>(args->eps));
    for (int64_t i = 0; i < args->hidden; ++i) {
      const float value = ToFloat(x[row * args->hidden + i]);
      out[row * args->hidden + i] = ToBf16(value * factor * ToFloat(weight[i]));
    }
  }
  return 0;
}
