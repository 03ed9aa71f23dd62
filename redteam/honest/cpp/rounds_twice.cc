// SPDX-License-Identifier: Apache-2.0
//
// Rounds to bf16 between normalising and weighing, as many production kernels do.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    float sum = 0.0f;
    for (int64_t i = 0; i < args->hidden; ++i) sum += ToFloat(x[i]) * ToFloat(x[i]);
    const float factor =
        1.0f / std::sqrt(sum / static_cast<float>(args->hidden) + static_cast<float>(args->eps));
    for (int64_t i = 0; i < args->hidden; ++i) {
      const uint16_t scaled = ToBf16(ToFloat(x[i]) * factor);
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(scaled) * ToFloat(weight[i]));
    }
  }
  return 0;
}
