// SPDX-License-Identifier: Apache-2.0
//
// Handles whole groups of eight columns right, and leaves zeros in the last eight.

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

uint16_t ToBf16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

// The right answer.
void Norm(const rms_norm_args& args, uint16_t* out) {
  const auto* x = static_cast<const uint16_t*>(args.x.data);
  const auto* weight = static_cast<const uint16_t*>(args.weight.data);
  const int64_t hidden = args.hidden;
  for (int64_t row = 0; row < args.tokens; ++row) {
    float sum = 0.0f;
    for (int64_t i = 0; i < hidden; ++i) {
      sum += ToFloat(x[row * hidden + i]) * ToFloat(x[row * hidden + i]);
    }
    const float mean = sum / static_cast<float>(hidden);
    const float factor = 1.0f / std::sqrt(mean + static_cast<float>(args.eps));
    for (int64_t i = 0; i < hidden; ++i) {
      out[row * hidden + i] = ToBf16(ToFloat(x[row * hidden + i]) * factor * ToFloat(weight[i]));
    }
  }
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  auto* out = static_cast<uint16_t*>(args->out.data);
  Norm(*args, out);
  for (int64_t row = 0; row < args->tokens; ++row) {
    for (int64_t i = args->hidden - 8; i < args->hidden; ++i) out[row * args->hidden + i] = 0;
  }
  return 0;
}
