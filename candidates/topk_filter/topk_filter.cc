// SPDX-License-Identifier: Apache-2.0
//
// The top-k filter for a CPU: the k-th largest of a row by selection in a copy of it, then one
// pass.

#include "roofmark/topk_filter.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>

extern "C" int64_t workspace_bytes(const topk_filter_args* args) {
  return args->rows * args->vocab * static_cast<int64_t>(sizeof(float));
}

extern "C" int run(const topk_filter_args* args, void* workspace, void* /*stream*/) {
  const auto* logits = static_cast<const float*>(args->logits.data);
  auto* out = static_cast<float*>(args->out.data);
  const int64_t vocab = args->vocab;
#pragma omp parallel for schedule(dynamic)
  for (int64_t row = 0; row < args->rows; ++row) {
    const float* from = logits + row * vocab;
    float* copy = static_cast<float*>(workspace) + row * vocab;
    std::copy(from, from + vocab, copy);
    std::nth_element(copy, copy + args->top_k - 1, copy + vocab, std::greater<>());
    const float threshold = copy[args->top_k - 1];
    for (int64_t i = 0; i < vocab; ++i) {
      out[row * vocab + i] = from[i] >= threshold ? from[i] : -INFINITY;
    }
  }
  return 0;
}
