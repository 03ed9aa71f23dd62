// SPDX-License-Identifier: Apache-2.0
//
// Rotary embedding with three position axes for a CPU: the cosines and sines that count are picked
// once a token and serve all of its heads.

#include "roofmark/mrope.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

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

void RotateHead(const uint16_t* from, uint16_t* to, const float* cos, const float* sin,
                int64_t half, int64_t head_size) {
  for (int64_t i = 0; i < half; ++i) {
    const float first = ToFloat(from[i]);
    const float second = ToFloat(from[i + half]);
    to[i] = ToBf16(first * cos[i] - second * sin[i]);
    to[i + half] = ToBf16(second * cos[i] + first * sin[i]);
  }
  for (int64_t i = 2 * half; i < head_size; ++i) to[i] = from[i];
}

}  // namespace

extern "C" int run(const mrope_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto half = static_cast<int64_t>(args->half);
  const auto in_t = static_cast<int64_t>(args->section_t);
  const int64_t in_h = in_t + static_cast<int64_t>(args->section_h);
  const auto* cos = static_cast<const float*>(args->cos.data);
  const auto* sin = static_cast<const float*>(args->sin.data);
#pragma omp parallel for schedule(static)
  for (int64_t token = 0; token < args->tokens; ++token) {
    std::vector<float> c(static_cast<size_t>(half));
    std::vector<float> s(static_cast<size_t>(half));
    for (int64_t i = 0; i < half; ++i) {
      const int64_t axis = (i >= in_t ? 1 : 0) + (i >= in_h ? 1 : 0);
      const int64_t at = (axis * args->tokens + token) * half + i;
      c[static_cast<size_t>(i)] = cos[at];
      s[static_cast<size_t>(i)] = sin[at];
    }
    const auto rotate = [&](const void* from, void* to, int64_t heads) {
      for (int64_t head = token * heads; head < (token + 1) * heads; ++head) {
        RotateHead(static_cast<const uint16_t*>(from) + head * args->head_size,
                   static_cast<uint16_t*>(to) + head * args->head_size, c.data(), s.data(), half,
                   args->head_size);
      }
    };
    rotate(args->q.data, args->q_out.data, args->query_heads);
    rotate(args->k.data, args->k_out.data, args->kv_heads);
  }
  return 0;
}
