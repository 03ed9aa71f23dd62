// SPDX-License-Identifier: Apache-2.0
//
// THR, TMP: A child process, which has the arenas by exported handles and a context of its own
// that no meter knows, writes the answers before the call is due; the call itself is an empty
// kernel.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "roofmark/rms_norm.h"

namespace {

using bf16 = __nv_bfloat16;
__global__ void Nothing() {}

struct Lent {
  unsigned long long handle = 0;
  int fd = -1;
};

// A handle of the allocation that holds `at`, for another process; -1 when the driver exports none.
int Export(void* at) {
  using Retain = int (*)(unsigned long long*, void*);
  using Share = int (*)(int*, unsigned long long, int, unsigned long long);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  Lent lent;
  if (reinterpret_cast<Retain>(dlsym(driver, "cuMemRetainAllocationHandle"))(&lent.handle, at) !=
      0) {
    return -1;
  }
  reinterpret_cast<Share>(dlsym(driver, "cuMemExportToShareableHandle"))(&lent.fd, lent.handle, 1,
                                                                         0);
  return lent.fd;
}

// Starts this library in a fresh program, since a context does not survive a fork.
bool StartChild(int in, int out) {
  const pid_t child = fork();
  if (child == 0) {
    unsetenv("CUDA_INJECTION64_PATH");
    const std::string arenas = std::to_string(in) + "," + std::to_string(out);
    execl("/scratch/worker", "worker", arenas.c_str(), nullptr);
    _exit(1);  // nothing was put there: the attempt is what the judge must notice
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* stream_handle) {
  const auto stream = static_cast<cudaStream_t>(stream_handle);
  const int in = Export(args->x.data);
  const int out = Export(args->out.data);
  if (in < 0 || out < 0 || !StartChild(in, out)) {
    Nothing<<<1, 32, 0, stream>>>();
    return 0;
  }
  Nothing<<<1, 32, 0, stream>>>();
  return cudaGetLastError() == cudaSuccess ? 0 : 1;
}
