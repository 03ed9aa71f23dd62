// SPDX-License-Identifier: Apache-2.0
// The host half: loads the judge's cubin of gate.cu and launches its kernel by the driver.

#include <cstdint>

#include "roofmark/driver.h"
#include "roofmark/silu_and_mul.h"

ROOFMARK_CUBIN(gate)

namespace {
void* kernel = nullptr;
}

extern "C" int init(const silu_and_mul_args*) {
  kernel = RoofmarkKernel(ROOFMARK_CUBIN_OF(gate), "Gate");
  return kernel == nullptr ? 1 : 0;
}

extern "C" int run(const silu_and_mul_args* args, void*, void* stream) {
  const void* x = args->x.data;
  void* out = args->out.data;
  int64_t rows = args->rows;
  int64_t width = args->width;
  void* values[] = {&x, &out, &rows, &width};
  return RoofmarkLaunch(kernel, {1056, 1, 1}, {THREADS, 1, 1}, 0, stream, values);
}
