// SPDX-License-Identifier: Apache-2.0
#include "device/nvrtc.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <memory>

#include "base/bind_symbol.h"
#include "base/text.h"
#include "device/cuda_libraries.h"

namespace roofmark::device {
Result<NvrtcApi> LoadNvrtc() {
  NvrtcApi api;
  api.path = TRY(FindCudaLibrary(CudaLibrary::kNvrtc)).string();
  void* library = ::dlopen(api.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = ::dlerror();
    return Fail(ErrorKind::kDevice,
                fmt::format("{} cannot be opened: {}", api.path, why == nullptr ? "" : why));
  }
  const bool complete = BindSymbol(library, api.version, "nvrtcVersion") &&
                        BindSymbol(library, api.error_string, "nvrtcGetErrorString") &&
                        BindSymbol(library, api.create, "nvrtcCreateProgram") &&
                        BindSymbol(library, api.destroy, "nvrtcDestroyProgram") &&
                        BindSymbol(library, api.compile, "nvrtcCompileProgram") &&
                        BindSymbol(library, api.log_size, "nvrtcGetProgramLogSize") &&
                        BindSymbol(library, api.log, "nvrtcGetProgramLog") &&
                        BindSymbol(library, api.cubin_size, "nvrtcGetCUBINSize") &&
                        BindSymbol(library, api.cubin, "nvrtcGetCUBIN");
  if (!complete) {
    return Fail(ErrorKind::kDevice,
                api.path + " lacks functions of NVRTC 11.2: install CUDA 12 or newer");
  }
  return api;
}

Result<std::string> CompileCubin(const NvrtcApi& nvrtc, const std::string& text,
                                 const std::string& name, const std::string& arch,
                                 const std::vector<std::string>& options) {
  NvrtcProgramTag* raw = nullptr;
  if (const int status = nvrtc.create(&raw, text.c_str(), name.c_str(), 0, nullptr, nullptr);
      status != 0) {
    return Fail(ErrorKind::kDevice,
                fmt::format("NVRTC refused {}: {}", name, nvrtc.error_string(status)));
  }
  const auto destroy = [&nvrtc](NvrtcProgramTag* program) { nvrtc.destroy(&program); };
  const std::unique_ptr<NvrtcProgramTag, decltype(destroy)> program(raw, destroy);

  std::vector<std::string> all = {"--gpu-architecture=" + arch, "--std=c++17"};
  all.insert(all.end(), options.begin(), options.end());
  std::vector<const char*> arguments;
  for (const std::string& option : all) arguments.push_back(option.c_str());
  const int status =
      nvrtc.compile(program.get(), static_cast<int>(arguments.size()), arguments.data());
  if (status != 0) {
    size_t length = 0;
    nvrtc.log_size(program.get(), &length);
    std::string log(length, '\0');
    if (length > 0) nvrtc.log(program.get(), log.data());
    return Fail(ErrorKind::kDevice,
                fmt::format("NVRTC ({}) cannot compile {} for {}: {}\n{}", nvrtc.path, name, arch,
                            nvrtc.error_string(status), Trim(log.c_str())));
  }
  size_t bytes = 0;
  if (nvrtc.cubin_size(program.get(), &bytes) != 0 || bytes == 0) {
    return Fail(ErrorKind::kDevice, fmt::format("NVRTC made no machine code of {}: '{}' names no "
                                                "real architecture",
                                                name, arch));
  }
  std::string cubin(bytes, '\0');
  nvrtc.cubin(program.get(), cubin.data());
  return cubin;
}

}  // namespace roofmark::device
