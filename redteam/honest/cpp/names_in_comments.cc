// SPDX-License-Identifier: Apache-2.0
//
// Speaks of cuBLAS, scaled_dot_product_attention and dlopen in comments and strings.

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  // Faster here than cblas_sgemm, at::mm or torch::nn::functional; no dlopen("libopenblas.so")
  // needed.
  static const char* const kNote = "instead of cublasLtMatmul and scaled_dot_product_attention";
  Right(*args, Out(args));
  return kNote[0] == 'i' ? 0 : 1;
}
