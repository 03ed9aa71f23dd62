// SPDX-License-Identifier: Apache-2.0
// What candidates with compiler = "nvrtc" are built with: a program that compiles device code
// inside the sandbox, and the header that their host code launches kernels by. Neither needs a CUDA
// toolkit. Declarations as in CUDA 13.0's cuda.h and nvrtc.h.
#include "candidate/build.h"

namespace roofmark::candidate {
namespace {

constexpr const char* kDriver = R"(/* SPDX-License-Identifier: Apache-2.0
 *
 * Host code of candidates with compiler = "nvrtc". Each device source NAME.cu of candidate.toml
 * becomes a cubin inside the library; RoofmarkKernel finds a kernel in one, RoofmarkLaunch starts
 * it. Other functions of the driver by their names: RoofmarkDriver("cuTensorMapEncodeTiled").
 *
 *   ROOFMARK_CUBIN(rms_norm)                      // of rms_norm.cu, at namespace scope
 *   int init(const rms_norm_args* shape) {
 *     kernel = RoofmarkKernel(ROOFMARK_CUBIN_OF(rms_norm), "Norm");   // extern "C" in the .cu
 *     return kernel == nullptr;
 *   }
 *   int run(const rms_norm_args* args, void* workspace, void* stream) {
 *     void* values[] = {&x, &out};
 *     return RoofmarkLaunch(kernel, grid, block, shared_bytes, stream, values);
 *   }
 */
#ifndef ROOFMARK_DRIVER_H_
#define ROOFMARK_DRIVER_H_

#include <dlfcn.h>

#define ROOFMARK_CUBIN(name) extern "C" const unsigned char roofmark_cubin_##name[];
#define ROOFMARK_CUBIN_OF(name) (roofmark_cubin_##name)

struct RoofmarkDim3 {
  unsigned x = 1, y = 1, z = 1;
};

/* Null where the driver has no such function. */
inline void* RoofmarkDriver(const char* function) {
  static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : ::dlsym(library, function);
}

/* A kernel of a cubin, in the current context; null on failure. Call it in init. */
inline void* RoofmarkKernel(const unsigned char* cubin, const char* name, int shared_bytes = 0) {
  using Load = int (*)(void**, const void*);
  using Get = int (*)(void**, void*, const char*);
  using Set = int (*)(void*, int, int);
  const auto load = reinterpret_cast<Load>(RoofmarkDriver("cuModuleLoadData"));
  const auto get = reinterpret_cast<Get>(RoofmarkDriver("cuModuleGetFunction"));
  const auto set = reinterpret_cast<Set>(RoofmarkDriver("cuFuncSetAttribute"));
  void* module = nullptr;
  void* kernel = nullptr;
  if (load == nullptr || get == nullptr || set == nullptr) return nullptr;
  if (load(&module, cubin) != 0 || get(&kernel, module, name) != 0) return nullptr;
  /* 8 = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
  if (shared_bytes > 0 && set(kernel, 8, shared_bytes) != 0) return nullptr;
  return kernel;
}

/* Queues a launch; 0 when that succeeded, else the driver's error. */
inline int RoofmarkLaunch(void* kernel, RoofmarkDim3 grid, RoofmarkDim3 block,
                          unsigned shared_bytes, void* stream, void** values) {
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  static const auto launch = reinterpret_cast<Launch>(RoofmarkDriver("cuLaunchKernel"));
  if (launch == nullptr || kernel == nullptr) return 1;
  return launch(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes, stream,
                values, nullptr);
}

#endif /* ROOFMARK_DRIVER_H_ */
)";

constexpr const char* kNvrtcProgram = R"(// SPDX-License-Identifier: Apache-2.0
// nvrtc LIBRARY SOURCE CUBIN OPTION...: compiles device code with the given NVRTC.
#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

template <typename Function>
static Function* Get(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto create = Get<int(void**, const char*, const char*, int, const char* const*,
                              const char* const*)>(library, "nvrtcCreateProgram");
  const auto compile = Get<int(void*, int, const char* const*)>(library, "nvrtcCompileProgram");
  const auto log_size = Get<int(void*, size_t*)>(library, "nvrtcGetProgramLogSize");
  const auto log = Get<int(void*, char*)>(library, "nvrtcGetProgramLog");
  const auto cubin_size = Get<int(void*, size_t*)>(library, "nvrtcGetCUBINSize");
  const auto cubin = Get<int(void*, char*)>(library, "nvrtcGetCUBIN");
  if (!create || !compile || !log_size || !log || !cubin_size || !cubin) {
    std::fprintf(stderr, "%s lacks functions of NVRTC 11.2\n", argv[1]);
    return 1;
  }
  std::ifstream file(argv[2], std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  void* program = nullptr;
  if (create(&program, text.c_str(), argv[2], 0, nullptr, nullptr) != 0) return 1;
  const int status = compile(program, argc - 4, argv + 4);
  size_t size = 0;
  log_size(program, &size);
  std::string words(size, '\0');
  log(program, words.data());
  if (size > 1) std::fprintf(stderr, "%s\n", words.c_str());
  if (status != 0) return 1;
  if (cubin_size(program, &size) != 0 || size == 0) return 1;
  std::string code(size, '\0');
  if (cubin(program, code.data()) != 0) return 1;
  std::ofstream out(argv[3], std::ios::binary);
  out << code;
  return out.flush() ? 0 : 1;
}
)";

}  // namespace

std::string DriverHeader() {
  return kDriver;
}

std::string NvrtcProgramText() {
  return kNvrtcProgram;
}

}  // namespace roofmark::candidate
