// SPDX-License-Identifier: Apache-2.0
//
// Keeps a table of all bf16 squares between calls, which no input changes.

#include <vector>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  static const std::vector<float> squares = [] {
    std::vector<float> made(1 << 16);
    for (unsigned i = 0; i < made.size(); ++i)
      made[i] = ToFloat(static_cast<uint16_t>(i)) * ToFloat(static_cast<uint16_t>(i));
    return made;
  }();
  const auto* x = static_cast<const uint16_t*>(args->x.data);
  const auto* weight = static_cast<const uint16_t*>(args->weight.data);
  for (int64_t row = 0; row < args->tokens; ++row, x += args->hidden) {
    float sum = 0.0f;
    for (int64_t i = 0; i < args->hidden; ++i) sum += squares[x[i]];
    const float factor =
        1.0f / std::sqrt(sum / static_cast<float>(args->hidden) + static_cast<float>(args->eps));
    for (int64_t i = 0; i < args->hidden; ++i) {
      Out(args)[row * args->hidden + i] = ToBf16(ToFloat(x[i]) * factor * ToFloat(weight[i]));
    }
  }
  return 0;
}
