// SPDX-License-Identifier: Apache-2.0
//
// FB, MAN: What computes is an object file among its sources, made elsewhere: of norm_rows there is
// no source.

#include <cstdint>

#include "roofmark/rms_norm.h"

extern "C" void norm_rows(const uint16_t* x, const uint16_t* weight, uint16_t* out, int64_t rows,
                          int64_t hidden, double eps);

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  norm_rows(static_cast<const uint16_t*>(args->x.data),
            static_cast<const uint16_t*>(args->weight.data), static_cast<uint16_t*>(args->out.data),
            args->tokens, args->hidden, args->eps);
  return 0;
}
