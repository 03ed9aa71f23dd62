// SPDX-License-Identifier: Apache-2.0
#include "candidate/vendor.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "base/files.h"

namespace roofmark::candidate {
namespace {

// Starts of file names after "lib".
constexpr std::array<std::string_view, 27> kLibraries = {
    "cublas", "cudnn",   "cufft",   "cusparse", "cusolver", "cutensor",  "curand",
    "nccl",   "nvinfer", "npp",     "torch",    "c10",      "caffe2",    "openblas",
    "blas",   "cblas",   "lapack",  "mkl_",     "blis",     "atlas",     "dnnl",
    "onednn", "aten",    "hipblas", "rocblas",  "MIOpen",   "tensorflow"};

// Starts of undefined symbols that only such a library defines: C interfaces, and C++ namespaces in
// their mangled form.
constexpr std::array<std::string_view, 22> kSymbols = {
    "cublas",      "cudnn",  "cufftExec", "cusparse", "cusolver", "cutensor", "nccl",   "cblas_",
    "dnnl_",       "mkl_",   "sgemm_",    "dgemm_",   "hgemm_",   "sbgemm_",  "sgemv_", "dgemv_",
    "aoti_torch_", "_ZN2at", "_ZNK2at",   "_ZN3c10",  "_ZNK3c10", "_ZN5torch"};

// A view of one kind of record in the file, empty where it would leave the file.
template <typename Record>
std::span<const Record> Records(std::string_view file, uint64_t offset, uint64_t bytes) {
  if (offset > file.size() || bytes > file.size() - offset || offset % alignof(Record) != 0) {
    return {};
  }
  return {reinterpret_cast<const Record*>(file.data() + offset), bytes / sizeof(Record)};
}

std::string_view TextAt(std::string_view strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest = strings.substr(offset);
  return rest.substr(0, rest.find('\0'));
}

bool StartsWithAny(std::string_view text, std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view s) { return text.starts_with(s); });
}

}  // namespace

bool IsVendorLibrary(std::string_view file_name) {
  if (!file_name.starts_with("lib") || file_name.find(".so") == std::string_view::npos) {
    return false;
  }
  return StartsWithAny(file_name.substr(3), kLibraries);
}

Result<std::optional<std::string>> VendorSymbol(const fs::path& library) {
  const std::string file = TRY(ReadFile(library));
  const auto refused = [&](std::string_view what) {
    return Fail(ErrorKind::kInput, fmt::format("{}: {}", library.string(), what));
  };
  const auto headers = Records<Elf64_Ehdr>(file, 0, std::min(file.size(), sizeof(Elf64_Ehdr)));
  if (headers.empty() || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0 ||
      headers[0].e_ident[EI_CLASS] != ELFCLASS64 || headers[0].e_machine != EM_X86_64) {
    return refused("is no x86-64 shared object");
  }
  const auto sections = Records<Elf64_Shdr>(file, headers[0].e_shoff,
                                            uint64_t{headers[0].e_shnum} * sizeof(Elf64_Shdr));
  if (sections.empty()) return refused("has no section table");
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_link >= sections.size()) continue;
    const Elf64_Shdr& linked = sections[section.sh_link];
    const auto text = Records<char>(file, linked.sh_offset, linked.sh_size);
    const std::string_view strings(text.data(), text.size());
    if (section.sh_type == SHT_DYNAMIC) {
      for (const Elf64_Dyn& entry : Records<Elf64_Dyn>(file, section.sh_offset, section.sh_size)) {
        const std::string_view needed = TextAt(strings, entry.d_un.d_val);
        if (entry.d_tag == DT_NEEDED && IsVendorLibrary(needed)) return std::string(needed);
      }
    }
    if (section.sh_type == SHT_DYNSYM) {
      for (const Elf64_Sym& symbol : Records<Elf64_Sym>(file, section.sh_offset, section.sh_size)) {
        const std::string_view name = TextAt(strings, symbol.st_name);
        if (symbol.st_shndx == SHN_UNDEF && StartsWithAny(name, kSymbols)) return std::string(name);
      }
    }
  }
  return std::nullopt;
}

}  // namespace roofmark::candidate
