// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_provenance.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace roofmark::gate {
namespace {

using Names = std::span<const std::string_view>;

// Shared objects by the start of their file names.
constexpr std::array<std::string_view, 12> kVendorLibraries = {
    "libcublas",   "libcudnn",  "libcufft", "libcusparse", "libcusolver", "libcurand",
    "libcutensor", "libnvjpeg", "libnccl",  "libnpp",      "libcutlass",  "libnvshmem"};
constexpr std::array<std::string_view, 5> kFrameworkLibraries = {
    "libtorch_cuda", "libtorch_cpu", "libc10_cuda", "libtorch.so", "libtorchvision"};
// Triton's driver module, compiled when first used, and its compiler.
constexpr std::array<std::string_view, 3> kTritonLaunchers = {"cuda_utils", "__triton_launcher",
                                                              "libtriton"};
// TorchInductor loads its kernels itself where it does not go through Triton's launcher.
constexpr std::array<std::string_view, 1> kInductorLaunchers = {"libtorch_python"};
// What TorchInductor calls the kernels that it generates: triton_poi_fused_add_0 and the like.
constexpr std::array<std::string_view, 1> kInductorKernels = {"triton_"};
// Kernels of vendor libraries, wherever their code was copied to. Source: names in profiles of
// cuBLAS 12 and 13 and cuDNN 9.
constexpr std::array<std::string_view, 9> kVendorKernels = {
    "nvjet_",  "sm80_xmma_", "sm90_xmma_",     "sm100_xmma_", "cudnn_",
    "ampere_", "cublas",     "gemvNSP_kernel", "_ZN8cublasLt"};

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool StartsWithAny(std::string_view text, Names starts) {
  return std::ranges::any_of(starts,
                             [text](std::string_view start) { return text.starts_with(start); });
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// A kernel that came through Triton's launcher is the candidate's when its source defines it.
Owner OwnerOfTriton(const std::string& kernel, const Provenance& provenance) {
  if (Contains(provenance.jit_kernels, kernel)) return Owner::kDsl;
  return StartsWithAny(kernel, kInductorKernels) ? Owner::kCompiler : Owner::kUnknown;
}

Owner OwnerOfModule(const MeteredModule& module, const std::string& kernel,
                    const Provenance& provenance) {
  if (Contains(provenance.own_code, module.sha256)) return Owner::kOwn;
  const std::string_view loader = FileName(module.loader);
  if (StartsWithAny(loader, kVendorLibraries)) return Owner::kVendor;
  if (StartsWithAny(loader, kFrameworkLibraries)) return Owner::kFramework;
  if (StartsWithAny(kernel, kVendorKernels)) return Owner::kVendor;
  if (StartsWithAny(loader, kTritonLaunchers)) return OwnerOfTriton(kernel, provenance);
  if (StartsWithAny(loader, kInductorLaunchers)) return OwnerOfTriton(kernel, provenance);
  // An extension that the candidate's Python built from its own source in its worker.
  const bool python = !IsNative(provenance.lane);
  if (python && module.loader.starts_with("/scratch/")) return Owner::kOwn;
  return Owner::kUnknown;
}

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string_view DecoratorName(std::string_view line) {
  line.remove_prefix(1);
  size_t end = 0;
  while (end < line.size() && (IsNameByte(line[end]) || line[end] == '.')) ++end;
  return line.substr(0, end);
}

}  // namespace

std::vector<std::string> JitKernelNames(std::string_view python) {
  std::vector<std::string> names;
  bool decorated = false;
  for (const std::string_view raw : Split(python, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.starts_with('@')) {
      const std::string_view name = DecoratorName(line);
      decorated = decorated || name == "jit" || name.ends_with(".jit");
    } else if (line.starts_with("def ")) {
      std::string_view name = line.substr(4);
      size_t end = 0;
      while (end < name.size() && IsNameByte(name[end])) ++end;
      if (decorated && end > 0) names.emplace_back(name.substr(0, end));
      decorated = false;
    } else if (line.starts_with("class ")) {
      decorated = false;
    }
  }
  return names;
}

Owner OwnerOf(const MeterReport& report, const MeteredOperation& operation,
              const Provenance& provenance) {
  if (operation.kind != MeteredKind::kKernel) return Owner::kRuntime;
  const MeteredName& name = report.names[operation.name];
  if (name.modules.empty()) return Owner::kUnknown;
  // Several modules may hold a kernel of that name (a template that two files instantiate); which
  // of them ran is not known, so they must agree.
  const Owner first = OwnerOfModule(report.modules[name.modules.front()], name.name, provenance);
  const bool agree = std::ranges::all_of(name.modules, [&](size_t module) {
    return OwnerOfModule(report.modules[module], name.name, provenance) == first;
  });
  return agree ? first : Owner::kUnknown;
}

}  // namespace roofmark::gate
