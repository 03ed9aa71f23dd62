// SPDX-License-Identifier: Apache-2.0
//
// Keeps its sums of squares in bf16, as if that were enough.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    uint16_t sum = 0;
    for (int64_t i = 0; i < args->hidden; ++i) {
      sum = ToBf16(ToFloat(sum) + ToFloat(x[i]) * ToFloat(x[i]));
    }
    const float mean = ToFloat(sum) / static_cast<float>(args->hidden);
    const float factor = 1.0f / std::sqrt(mean + static_cast<float>(args->eps));
    for (int64_t i = 0; i < args->hidden; ++i) {
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(x[i]) * factor * ToFloat(weight[i]));
    }
  }
  return 0;
}
