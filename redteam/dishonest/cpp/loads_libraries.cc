// SPDX-License-Identifier: Apache-2.0
//
// Looks for OpenBLAS, MKL and PyTorch at run time under every name that they have.

#include <dlfcn.h>

#include <initializer_list>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  for (const char* name :
       {"libopenblas.so.0", "libopenblas.so", "libblas.so.3", "libcblas.so.3", "libmkl_rt.so",
        "libmkl_rt.so.2", "libtorch_cpu.so", "libtorch.so", "libtorch_cpu.so.1.13", "libdnnl.so.2",
        "libgsl.so.27", "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "/usr/lib/x86_64-linux-gnu/libtorch_cpu.so.1.13",
        "/usr/lib/x86_64-linux-gnu/blas/libblas.so.3"}) {
    if (dlopen(name, RTLD_NOW | RTLD_GLOBAL) != nullptr) return 0;
  }
  return 7;
}
