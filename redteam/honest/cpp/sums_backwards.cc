// SPDX-License-Identifier: Apache-2.0
//
// Sums in another order and in double, so that it rounds otherwise.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = args->tokens; row-- > 0;) {
    const uint16_t* in = x + row * args->hidden;
    double sum = 0;
    for (int64_t i = args->hidden; i-- > 0;) sum += double{ToFloat(in[i])} * ToFloat(in[i]);
    const double factor = 1.0 / std::sqrt(sum / static_cast<double>(args->hidden) + args->eps);
    for (int64_t i = args->hidden; i-- > 0;) {
      Out(args)[row * args->hidden + i] =
          ToBf16(static_cast<float>(ToFloat(in[i]) * factor * ToFloat(weight[i])));
    }
  }
  return 0;
}
