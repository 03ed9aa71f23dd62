// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_rates.h"

#include <immintrin.h>

namespace roofmark::device {
namespace {

// Enough chains to hide four cycles of latency on two units.
constexpr int kChains = 12;
constexpr float kScale = 0.9999F;
constexpr float kShift = 0.0001F;

// Keeps a result without using it: the compiler must assume that it is read.
template <typename T>
void Keep(const T& value) {
  __asm__ volatile("" : : "m"(value) : "memory");
}

__attribute__((target("avx512f"))) double MultiplyAddsAvx512(int64_t steps) {
  __m512 x[kChains];
  for (int k = 0; k < kChains; ++k) x[k] = _mm512_set1_ps(static_cast<float>(k));
  const __m512 a = _mm512_set1_ps(kScale);
  const __m512 b = _mm512_set1_ps(kShift);
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) x[k] = _mm512_fmadd_ps(x[k], a, b);
  }
  Keep(x);
  return static_cast<double>(steps) * kChains * 16 * 2;
}

__attribute__((target("avx2,fma"))) double MultiplyAddsAvx2(int64_t steps) {
  __m256 x[kChains];
  for (int k = 0; k < kChains; ++k) x[k] = _mm256_set1_ps(static_cast<float>(k));
  const __m256 a = _mm256_set1_ps(kScale);
  const __m256 b = _mm256_set1_ps(kShift);
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) x[k] = _mm256_fmadd_ps(x[k], a, b);
  }
  Keep(x);
  return static_cast<double>(steps) * kChains * 8 * 2;
}

double MultiplyAddsSse2(int64_t steps) {
  __m128 x[kChains];
  for (int k = 0; k < kChains; ++k) x[k] = _mm_set1_ps(static_cast<float>(k));
  const __m128 a = _mm_set1_ps(kScale);
  const __m128 b = _mm_set1_ps(kShift);
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < kChains; ++k) x[k] = _mm_add_ps(_mm_mul_ps(x[k], a), b);
  }
  Keep(x);
  return static_cast<double>(steps) * kChains * 4 * 2;
}

// exp(x) = 2^n * exp(r), n = round(x / ln 2), r = x - n ln 2, in two parts of ln 2.
constexpr float kInvLn2 = 1.44269504F;
constexpr float kLn2High = 0.693359375F;
constexpr float kLn2Low = -2.12194440e-4F;
// Coefficients of exp(r) from r^5 down to r^0. Source: Cephes, expf (c5 = 1/5! .. adjusted).
constexpr float kPolynomial[6] = {8.3334519e-3F, 4.1665796e-2F, 1.6666666e-1F, 0.5F, 1.0F, 1.0F};
constexpr int kExpChains = 8;

__attribute__((target("avx512f"), always_inline)) inline __m512 ExpAvx512(__m512 x) {
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(kInvLn2)), 0);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2High), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(kLn2Low), r);
  __m512 p = _mm512_set1_ps(kPolynomial[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(kPolynomial[i]));
  return _mm512_scalef_ps(p, n);
}

__attribute__((target("avx512f"))) double ExponentialsAvx512(int64_t steps) {
  __m512 x[kExpChains];
  for (int k = 0; k < kExpChains; ++k) x[k] = _mm512_set1_ps(0.1F * static_cast<float>(k));
  const __m512 zero = _mm512_setzero_ps();
  for (int64_t s = 0; s < steps; ++s) {
    // exp(-x) stays between 0 and 1, whatever the number of rounds.
#pragma GCC unroll 8
    for (int k = 0; k < kExpChains; ++k) x[k] = ExpAvx512(_mm512_sub_ps(zero, x[k]));
  }
  Keep(x);
  return static_cast<double>(steps) * kExpChains * 16;
}

__attribute__((target("avx2,fma"), always_inline)) inline __m256 ExpAvx2(__m256 x) {
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(kInvLn2)), 0);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2High), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(kLn2Low), r);
  __m256 p = _mm256_set1_ps(kPolynomial[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(kPolynomial[i]));
  const __m256i shifted = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), shifted));
}

__attribute__((target("avx2,fma"))) double ExponentialsAvx2(int64_t steps) {
  __m256 x[kExpChains];
  for (int k = 0; k < kExpChains; ++k) x[k] = _mm256_set1_ps(0.1F * static_cast<float>(k));
  const __m256 zero = _mm256_setzero_ps();
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < kExpChains; ++k) x[k] = ExpAvx2(_mm256_sub_ps(zero, x[k]));
  }
  Keep(x);
  return static_cast<double>(steps) * kExpChains * 8;
}

__attribute__((always_inline)) inline __m128 ExpSse2(__m128 x) {
  const __m128i whole = _mm_cvtps_epi32(_mm_mul_ps(x, _mm_set1_ps(kInvLn2)));
  const __m128 n = _mm_cvtepi32_ps(whole);
  __m128 r = _mm_sub_ps(x, _mm_mul_ps(n, _mm_set1_ps(kLn2High)));
  r = _mm_sub_ps(r, _mm_mul_ps(n, _mm_set1_ps(kLn2Low)));
  __m128 p = _mm_set1_ps(kPolynomial[0]);
#pragma GCC unroll 5
  for (int i = 1; i < 6; ++i) {
    p = _mm_add_ps(_mm_mul_ps(p, r), _mm_set1_ps(kPolynomial[i]));
  }
  return _mm_castsi128_ps(_mm_add_epi32(_mm_castps_si128(p), _mm_slli_epi32(whole, 23)));
}

double ExponentialsSse2(int64_t steps) {
  __m128 x[kExpChains];
  for (int k = 0; k < kExpChains; ++k) x[k] = _mm_set1_ps(0.1F * static_cast<float>(k));
  const __m128 zero = _mm_setzero_ps();
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 8
    for (int k = 0; k < kExpChains; ++k) x[k] = ExpSse2(_mm_sub_ps(zero, x[k]));
  }
  Keep(x);
  return static_cast<double>(steps) * kExpChains * 4;
}

}  // namespace

VectorWidth WidestVectors() {
  if (__builtin_cpu_supports("avx512f")) return VectorWidth::kAvx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return VectorWidth::kAvx2;
  return VectorWidth::kSse2;
}

std::string_view VectorWidthName(VectorWidth width) {
  switch (width) {
    case VectorWidth::kSse2:
      return "SSE2";
    case VectorWidth::kAvx2:
      return "AVX2";
    case VectorWidth::kAvx512:
      break;
  }
  return "AVX-512";
}

double RunMultiplyAdds(VectorWidth width, int64_t steps) {
  switch (width) {
    case VectorWidth::kSse2:
      return MultiplyAddsSse2(steps);
    case VectorWidth::kAvx2:
      return MultiplyAddsAvx2(steps);
    case VectorWidth::kAvx512:
      break;
  }
  return MultiplyAddsAvx512(steps);
}

double RunExponentials(VectorWidth width, int64_t steps) {
  switch (width) {
    case VectorWidth::kSse2:
      return ExponentialsSse2(steps);
    case VectorWidth::kAvx2:
      return ExponentialsAvx2(steps);
    case VectorWidth::kAvx512:
      break;
  }
  return ExponentialsAvx512(steps);
}

// 16-byte loads and stores keep up with memory; wider ones were no faster.
void ReadMemory(const float* from, size_t bytes) {
  __m128 sums[8] = {};
  for (size_t i = 0; i + 32 <= bytes / sizeof(float); i += 32) {
#pragma GCC unroll 8
    for (size_t k = 0; k < 8; ++k) {
      sums[k] = _mm_xor_ps(sums[k], _mm_load_ps(from + i + 4 * k));
    }
  }
  Keep(sums);
}

void WriteMemory(float* to, size_t bytes) {
  const __m128 value = _mm_set1_ps(1.5F);
  for (size_t i = 0; i + 4 <= bytes / sizeof(float); i += 4) _mm_stream_ps(to + i, value);
  _mm_sfence();
}

void CopyMemory(const float* from, float* to, size_t bytes) {
  for (size_t i = 0; i + 4 <= bytes / sizeof(float); i += 4) {
    _mm_stream_ps(to + i, _mm_load_ps(from + i));
  }
  _mm_sfence();
}

}  // namespace roofmark::device
