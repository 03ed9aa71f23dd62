// SPDX-License-Identifier: Apache-2.0
//
// The block-scaled fp8 product for a CPU: both operands are decoded once into float32 with their
// scales in place (in the workspace), then multiplied four rows by four columns at a time.

#include "roofmark/block_scaled_mm.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace {

constexpr int kLanes = 8;
constexpr int kTile = 4;

// Values of the 256 codes of e4m3fn: bias 7, subnormals at exponent 0, NaN at 0x7f and 0xff.
std::array<float, 256> DecodeTable() {
  std::array<float, 256> table{};
  for (int code = 0; code < 256; ++code) {
    const int exponent = (code >> 3) & 15;
    const int mantissa = code & 7;
    float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
    if ((code & 0x7f) == 0x7f) value = NAN;
    table[static_cast<size_t>(code)] = (code & 0x80) != 0 ? -value : value;
  }
  return table;
}

// Rows of `codes`, each value times its group's scale. A row of scales serves `rows_per_scale`
// rows.
void Dequantise(const uint8_t* codes, const float* scales, float* to, int64_t rows, int64_t k,
                int64_t group, int64_t rows_per_scale) {
  static const std::array<float, 256> table = DecodeTable();
  const int64_t groups = (k + group - 1) / group;
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t g = 0; g < groups; ++g) {
      const float scale = scales[row / rows_per_scale * groups + g];
      const int64_t end = k < (g + 1) * group ? k : (g + 1) * group;
      for (int64_t i = g * group; i < end; ++i) to[row * k + i] = table[codes[row * k + i]] * scale;
    }
  }
}

// kTile rows of a against kTile rows of b; `rows` and `columns` say how many of them exist.
void MultiplyTile(const float* a, const float* b, float* c, int64_t k, int64_t n, int64_t rows,
                  int64_t columns) {
  float sums[kTile][kTile][kLanes] = {};
  const int64_t whole = k / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int r = 0; r < kTile; ++r) {
      for (int s = 0; s < kTile; ++s) {
        // Rows past the end repeat the last one; what they give is not stored.
        const float* x = a + (r < rows ? r : rows - 1) * k + i;
        const float* y = b + (s < columns ? s : columns - 1) * k + i;
        for (int lane = 0; lane < kLanes; ++lane) sums[r][s][lane] += x[lane] * y[lane];
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t s = 0; s < columns; ++s) {
      float sum = 0.0f;
      for (const float lane : sums[r][s]) sum += lane;
      for (int64_t i = whole; i < k; ++i) sum += a[r * k + i] * b[s * k + i];
      c[r * n + s] = sum;
    }
  }
}

}  // namespace

extern "C" int64_t workspace_bytes(const block_scaled_mm_args* args) {
  return (args->m + args->n) * args->k * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const block_scaled_mm_args* args, void* workspace, void* /*stream*/) {
  const int64_t m = args->m;
  const int64_t n = args->n;
  const int64_t k = args->k;
  auto* a = static_cast<float*>(workspace);
  float* b = a + m * k;
  auto* c = static_cast<float*>(args->c.data);
  Dequantise(static_cast<const uint8_t*>(args->a.data),
             static_cast<const float*>(args->a_scales.data), a, m, k, args->group, 1);
  Dequantise(static_cast<const uint8_t*>(args->b.data),
             static_cast<const float*>(args->b_scales.data), b, n, k, args->group, args->group);
#pragma omp parallel for schedule(static)
  for (int64_t column = 0; column < n; column += kTile) {
    const int64_t columns = n - column < kTile ? n - column : kTile;
    for (int64_t row = 0; row < m; row += kTile) {
      const int64_t rows = m - row < kTile ? m - row : kTile;
      MultiplyTile(a + row * k, b + column * k, c + row * n + column, k, n, rows, columns);
    }
  }
  return 0;
}
