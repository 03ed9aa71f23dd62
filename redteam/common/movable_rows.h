// SPDX-License-Identifier: Apache-2.0
//
// A right rms_norm whose machine code runs wherever it is copied to.
#pragma once

#include <immintrin.h>
#include <sys/mman.h>

#include "right_norm.h"

using Function = void (*)(const uint16_t*, const uint16_t*, uint16_t*, int64_t, int64_t, float);

// Calls nothing and names no constant, so that it runs wherever it is copied to.
[[maybe_unused, gnu::noinline, gnu::optimize("O1,no-tree-vectorize")]] void Rows(
    const uint16_t* x, const uint16_t* weight, uint16_t* out, int64_t tokens, int64_t hidden,
    float eps) {
  for (int64_t row = 0; row < tokens; ++row, x += hidden, out += hidden) {
    float sum = eps * static_cast<float>(hidden);
    for (int64_t i = 0; i < hidden; ++i) {
      const float value = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(x[i] << 16)));
      sum += value * value;
    }
    const float mean = sum / static_cast<float>(hidden);
    const float root = _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean)));
    for (int64_t i = 0; i < hidden; ++i) {
      const float value = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(x[i] << 16)));
      const float scale = _mm_cvtss_f32(_mm_castsi128_ps(_mm_cvtsi32_si128(weight[i] << 16)));
      const unsigned bits = static_cast<unsigned>(
          _mm_cvtsi128_si32(_mm_castps_si128(_mm_set_ss(value / root * scale))));
      out[i] = static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
  }
}

// Calls code of that signature.
inline void Call(Function rows, const rms_norm_args& args) {
  rows(static_cast<const uint16_t*>(args.x.data), static_cast<const uint16_t*>(args.weight.data),
       Out(&args), args.tokens, args.hidden, static_cast<float>(args.eps));
}
