// SPDX-License-Identifier: Apache-2.0
//
// The sum over a token's expert outputs for a CPU: a piece of the row is added in float32 in a
// buffer that stays in the nearest cache, choice after choice, and rounded once.

#include "roofmark/moe_sum_reduce.h"

#include <cstdint>
#include <cstring>

namespace {

constexpr int64_t kPiece = 1024;

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

}  // namespace

extern "C" int run(const moe_sum_reduce_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* given = static_cast<const uint16_t*>(args->expert_outputs.data);
  auto* out = static_cast<uint16_t*>(args->out.data);
  const int64_t hidden = args->hidden;
#pragma omp parallel for schedule(static)
  for (int64_t token = 0; token < args->tokens; ++token) {
    for (int64_t begin = 0; begin < hidden; begin += kPiece) {
      const int64_t size = hidden - begin < kPiece ? hidden - begin : kPiece;
      float sums[kPiece] = {};
      for (int64_t choice = 0; choice < args->top_k; ++choice) {
        const uint16_t* row = given + (token * args->top_k + choice) * hidden + begin;
        for (int64_t i = 0; i < size; ++i) sums[i] += ToFloat(row[i]);
      }
      for (int64_t i = 0; i < size; ++i) out[token * hidden + begin + i] = ToBf16(sums[i]);
    }
  }
  return 0;
}
