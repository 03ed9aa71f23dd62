// SPDX-License-Identifier: Apache-2.0
//
// Allocates and frees memory in each call, which the contract advises against and allows on a CPU.

#include <vector>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  std::vector<uint16_t> answer(static_cast<size_t>(Size(*args)));
  Right(*args, answer.data());
  std::memcpy(args->out.data, answer.data(), answer.size() * 2);
  return 0;
}
