// SPDX-License-Identifier: Apache-2.0
//
// Takes its root with an instruction written by hand.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    float sum = 0.0f;
    for (int64_t i = 0; i < args->hidden; ++i) sum += ToFloat(x[i]) * ToFloat(x[i]);
    float root = sum / static_cast<float>(args->hidden) + static_cast<float>(args->eps);
    asm volatile("sqrtss %0, %0" : "+x"(root));
    for (int64_t i = 0; i < args->hidden; ++i) {
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(x[i]) / root * ToFloat(weight[i]));
    }
  }
  return 0;
}
