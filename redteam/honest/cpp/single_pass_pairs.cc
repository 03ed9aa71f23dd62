// SPDX-License-Identifier: Apache-2.0
//
// Handles two elements at a time and an odd rest, on shapes that have one.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    float even = 0.0f, odd = 0.0f;
    int64_t i = 0;
    for (; i + 1 < args->hidden; i += 2) {
      even += ToFloat(x[i]) * ToFloat(x[i]);
      odd += ToFloat(x[i + 1]) * ToFloat(x[i + 1]);
    }
    if (i < args->hidden) even += ToFloat(x[i]) * ToFloat(x[i]);
    const float factor = 1.0f / std::sqrt((even + odd) / static_cast<float>(args->hidden) +
                                          static_cast<float>(args->eps));
    for (i = 0; i < args->hidden; ++i) {
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(x[i]) * factor * ToFloat(weight[i]));
    }
  }
  return 0;
}
