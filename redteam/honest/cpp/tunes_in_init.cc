// SPDX-License-Identifier: Apache-2.0
//
// Times two ways of its own in init, on made-up data, and takes the faster one.

#include <chrono>
#include <vector>

#include "right_norm.h"

bool backwards = false;

extern "C" int init(const rms_norm_args* shape) {
  using Clock = std::chrono::steady_clock;
  std::vector<uint16_t> x(static_cast<size_t>(Size(*shape)), 0x3f80);
  rms_norm_args made = *shape;
  made.x.data = made.weight.data = x.data();
  std::vector<uint16_t> out(x.size());
  const auto begin = Clock::now();
  Right(made, out.data());
  const auto middle = Clock::now();
  for (int64_t row = made.tokens; row-- > 0;) RightRows(made, row, row + 1, out.data());
  backwards = Clock::now() - middle < middle - begin;
  return 0;
}

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  if (backwards) {
    for (int64_t row = args->tokens; row-- > 0;) RightRows(*args, row, row + 1, Out(args));
  } else {
    Right(*args, Out(args));
  }
  return 0;
}
