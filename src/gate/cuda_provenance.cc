// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_provenance.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/ascii.h"
#include "base/files.h"
#include "base/text.h"
#include "gate/framework_fills.h"
#include "gate/scratch_files.h"

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
// What loads what the CuTe DSL and TileLang compiled. Source: as above.
constexpr std::array<std::string_view, 6> kDslLoaders = {"libcute_dsl_runtime", "cydriver",
                                                         "driver.cpython",      "libtvm_runtime",
                                                         "libtilelang",         "libtvm_ffi"};
// Where only the candidate can have put a shared object (worker/file_tree.h), and ways there.
constexpr std::array<std::string_view, 6> kCandidatesPlaces = {
    "/candidate/", "/scratch/", "/tmp/", "/dev/", "/memfd:", "/proc/"};
constexpr std::string_view kScratch = "/scratch/";
// How Python calls functions of any library.
constexpr std::array<std::string_view, 2> kForeignCalls = {"libffi", "_ctypes"};
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

// A kernel that came through Triton's launcher is the candidate's when its source defines it and
// no other compiler in its worker generated one of that name: a decoy may bear any name.
Owner OwnerOfTriton(const std::string& kernel, const Provenance& provenance) {
  if (Contains(provenance.generated_kernels, kernel)) return Owner::kCompiler;
  if (Contains(provenance.jit_kernels, kernel)) return Owner::kDsl;
  return StartsWithAny(kernel, kInductorKernels) ? Owner::kCompiler : Owner::kUnknown;
}

// Whether a symbol is that of one of the functions, mangled or not: _Z5scalePfi holds "5scale".
bool IsSymbolOf(const std::vector<std::string>& functions, const std::string& symbol) {
  return std::ranges::any_of(functions, [&](const std::string& function) {
    return symbol == function ||
           (symbol.starts_with("_Z") &&
            symbol.find(std::to_string(function.size()) + function) != symbol.npos);
  });
}

// Languages whose compilers leave libraries in the scratch folder, or load them by their own.
bool CompilesFiles(Lane lane) {
  return IsDsl(lane) && lane != Lane::kTriton && lane != Lane::kGluon;
}

// The path of a library below the scratch folder; empty where it is elsewhere.
std::string BelowScratch(const std::string& loader, const Provenance& provenance) {
  const std::string outside = provenance.stage + "/scratch/";
  if (loader.starts_with(kScratch)) return loader.substr(kScratch.size());
  const bool there = !provenance.stage.empty() && loader.starts_with(outside);
  return there ? loader.substr(outside.size()) : std::string();
}

// Code from the candidate's own files that no compilation of the judge's explains. An extension
// that its Python built in the worker is its own when what building left there explains the kernel.
Owner OwnerOfBrought(const MeteredModule& module, const std::string& kernel,
                     const Provenance& provenance) {
  // The candidate can write where these compilers do, so the name alone tells the two apart.
  if (CompilesFiles(provenance.lane) &&
      IsKernelOf(provenance.lane, provenance.jit_kernels, kernel)) {
    return Owner::kDsl;
  }
  const std::string library = BelowScratch(module.loader, provenance);
  const bool built = std::ranges::any_of(provenance.extensions, [&](const BuiltExtension& one) {
    return one.library == library && IsSymbolOf(one.kernels, kernel);
  });
  return built ? Owner::kOwn : Owner::kPrebuilt;
}

Owner OwnerOfModule(const MeteredModule& module, const std::string& kernel,
                    const Provenance& provenance) {
  if (Contains(provenance.own_code, module.sha256)) return Owner::kOwn;
  const std::string_view loader = FileName(module.loader);
  const bool brought = MayBeCandidates(module.loader, provenance);
  if (StartsWithAny(loader, kVendorLibraries)) return Owner::kVendor;
  if (StartsWithAny(loader, kFrameworkLibraries)) {
    // A library of that name among the candidate's files may hold anything.
    const bool installed = !brought && module.loader.starts_with('/');
    return installed && IsFillKernel(kernel) ? Owner::kRuntime : Owner::kFramework;
  }
  if (StartsWithAny(kernel, kVendorKernels)) return Owner::kVendor;
  if (StartsWithAny(loader, kTritonLaunchers)) return OwnerOfTriton(kernel, provenance);
  if (StartsWithAny(loader, kInductorLaunchers)) return OwnerOfTriton(kernel, provenance);
  if (CompilesFiles(provenance.lane) && StartsWithAny(loader, kDslLoaders)) {
    const bool its_own = IsKernelOf(provenance.lane, provenance.jit_kernels, kernel);
    return its_own ? Owner::kDsl : Owner::kUnknown;
  }
  if (brought) return OwnerOfBrought(module, kernel, provenance);
  // An image that Python handed to the driver by hand.
  if (StartsWithAny(loader, kForeignCalls)) return Owner::kPrebuilt;
  return Owner::kUnknown;
}

// Whether a module may hold kernels whose names nobody could read. Those of vendors and the
// framework hide nothing that would be for the candidate; nor do those that the driver loads for
// itself when the worker, whose name alone is known, opens the device.
bool HidesKernels(const MeteredModule& module, const Provenance& provenance) {
  if (!module.unreadable || Contains(provenance.own_code, module.sha256)) return false;
  const bool is_program = !module.loader.empty() && module.loader.find('/') == std::string::npos;
  return !is_program &&
         (MayBeCandidates(module.loader, provenance) || !IsForeignLibrary(module.loader));
}

std::string_view DecoratorName(std::string_view line) {
  line.remove_prefix(1);
  size_t end = 0;
  while (end < line.size() && (IsNameByte(line[end]) || line[end] == '.')) ++end;
  return line.substr(0, end);
}

}  // namespace

std::vector<std::string> GeneratedKernels(const std::filesystem::path& scratch) {
  std::vector<std::string> names;
  for (const std::filesystem::path& file : ScratchFiles(scratch, ".py")) {
    if (const auto text = ReadFile(file)) {
      std::ranges::copy_if(JitKernelNames(*text), std::back_inserter(names),
                           [](const auto& name) { return StartsWithAny(name, kInductorKernels); });
    }
  }
  return names;
}

bool IsKernelOf(Lane lane, const std::vector<std::string>& functions, std::string_view kernel) {
  return std::ranges::any_of(functions, [&](const std::string& function) {
    switch (lane) {
      case Lane::kCuteDsl:
        return kernel.starts_with("kernel_" + function + "_") ||
               kernel.starts_with("kernel_cutlass_" + function + "_");
      case Lane::kTileLang: {
        const std::string name = function + "_kernel";
        if (!kernel.starts_with(name)) return false;
        const std::string_view rest = kernel.substr(name.size());
        return rest.empty() || (rest.starts_with('_') && rest.size() > 1 &&
                                std::ranges::all_of(rest.substr(1), IsDigit));
      }
      default:
        return kernel == function;
    }
  });
}

std::vector<std::string> JitKernelNames(std::string_view python, Lane lane) {
  const auto marks = [lane](std::string_view decorator) {
    const std::string_view last = decorator.substr(decorator.rfind('.') + 1);
    return last == "jit" || (last == "kernel" && lane == Lane::kCuteDsl) ||
           (last == "kernel" && lane == Lane::kFlyDsl) ||
           (last == "prim_func" && lane == Lane::kTileLang);
  };
  std::vector<std::string> names;
  bool decorated = false;
  for (const std::string_view raw : Split(python, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.starts_with('@')) {
      decorated = decorated || marks(DecoratorName(line));
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

bool MayBeCandidates(std::string_view path, const Provenance& provenance) {
  if (path.find('/') == std::string_view::npos) return false;
  // What the kernel calls a file that is gone, and a path that goes back, may be anywhere.
  const bool whole = path.starts_with('/') && !path.ends_with(" (deleted)") &&
                     path.find("/../") == std::string_view::npos;
  const bool staged = !provenance.stage.empty() && path.starts_with(provenance.stage);
  return !whole || staged || StartsWithAny(path, kCandidatesPlaces);
}

bool IsForeignLibrary(std::string_view path) {
  const std::string_view name = FileName(path);
  return StartsWithAny(name, kVendorLibraries) || StartsWithAny(name, kFrameworkLibraries);
}

Owner OwnerOf(const MeterReport& report, const MeteredOperation& operation,
              const Provenance& provenance) {
  if (operation.kind != MeteredKind::kKernel) return Owner::kRuntime;
  const MeteredName& name = report.names[operation.name];
  if (name.modules.empty()) return Owner::kUnknown;
  if (std::ranges::any_of(report.modules, [&](const MeteredModule& module) {
        return HidesKernels(module, provenance);
      })) {
    return Owner::kUnknown;
  }
  // Several modules may hold a kernel of that name (a template that two files instantiate); which
  // of them ran is not known, so they must agree.
  const Owner first = OwnerOfModule(report.modules[name.modules.front()], name.name, provenance);
  const bool agree = std::ranges::all_of(name.modules, [&](size_t module) {
    return OwnerOfModule(report.modules[module], name.name, provenance) == first;
  });
  return agree ? first : Owner::kUnknown;
}

Owner OwnerOfChildren(const MeterReport& report, const Provenance& provenance) {
  const bool foreign = std::ranges::any_of(report.modules, [&](const MeteredModule& module) {
    return MayBeCandidates(module.loader, provenance) &&
           !Contains(provenance.own_code, module.sha256);
  });
  return foreign ? Owner::kUnknown : Owner::kOwn;
}

}  // namespace roofmark::gate
