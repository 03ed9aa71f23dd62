// SPDX-License-Identifier: Apache-2.0
#include "candidate/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

namespace roofmark::candidate {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kHost = {".c", ".cc", ".cpp", ".cxx"};
constexpr std::array<std::string_view, 9> kHeaders = {".h",   ".hh",  ".hpp", ".hxx", ".cuh",
                                                      ".inl", ".inc", ".ipp", ".tpp"};
// Products of compilers, which an include folder has no use for. Compilers take a precompiled
// header in the place of the header that an #include names.
constexpr std::array<std::string_view, 12> kProducts = {
    ".o", ".obj", ".a", ".so", ".gch", ".pch", ".bc", ".cubin", ".fatbin", ".ptx", ".pcm", ".lto"};

struct Magic {
  std::string_view bytes;
  std::string_view what;
};
// Source: System V ABI (ELF, ar), GCC's c-pch.cc, LLVM's bitcode format, CUDA's
// fatbinary_section.h.
constexpr std::array<Magic, 6> kMagic = {{{"\177ELF", "an ELF file"},
                                          {"!<arch>\n", "an archive of objects"},
                                          {"!<thin>\n", "an archive of objects"},
                                          {"gpch", "a precompiled header"},
                                          {"BC\xc0\xde", "LLVM bitcode"},
                                          {"\x50\xed\x55\xba", "a CUDA fat binary"}}};

bool Holds(const auto& list, std::string_view extension) {
  return std::ranges::find(list, extension) != list.end();
}

// What machine code a file begins as; empty for anything else.
std::string_view MachineCodeIn(const fs::path& path) {
  std::array<char, 8> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), start.size());
  const std::string_view read(start.data(), static_cast<size_t>(file.gcount()));
  const auto found = std::ranges::find_if(
      kMagic, [read](const Magic& magic) { return read.starts_with(magic.bytes); });
  return found == kMagic.end() ? std::string_view() : found->what;
}

std::unexpected<Error> Refuse(std::string_view key, const fs::path& file, std::string_view why) {
  return Fail(ErrorKind::kInput,
              fmt::format("{}: '{}' is {}: what a candidate runs is compiled here from its source. "
                          "Name its source instead, and take this file out",
                          key, file.string(), why));
}

Result<void> CheckSource(const Candidate& candidate, const fs::path& source) {
  const bool device = candidate.lane == Lane::kCuda;
  const std::string_view code = MachineCodeIn(candidate.folder / source);
  if (!code.empty()) return Refuse("sources", source, code);
  const SourceKind kind = KindOfSource(source);
  // nvcc splits what it is given at commas.
  const bool whole = !device || source.string().find(',') == std::string::npos;
  if (whole && kind != SourceKind::kOther && (kind != SourceKind::kDevice || device)) return {};
  return Fail(
      ErrorKind::kInput,
      fmt::format("sources: '{}' is no source of lane {}: it compiles *{}{}, beside headers "
                  "(*{}){}. Objects, libraries, assembly and "
                  "PTX from elsewhere are not judged: name the source that they were made of",
                  source.string(), LaneName(candidate.lane), fmt::join(kHost, " *"),
                  device ? " *.cu" : "", fmt::join(kHeaders, " *"),
                  device ? ", without a comma in their names" : ""));
}

Result<void> CheckIncludeFolder(const Candidate& candidate, const fs::path& include) {
  std::error_code error;
  for (fs::recursive_directory_iterator it(candidate.folder / include, error), end;
       !error && it != end; it.increment(error)) {
    const fs::path file = it->path().lexically_relative(candidate.folder);
    // GCC also takes a folder x.h.gch of them.
    if (Holds(kProducts, file.extension().string())) {
      return Refuse("include", file, "what a compiler makes");
    }
    if (!it->is_regular_file()) continue;
    const std::string_view code = MachineCodeIn(it->path());
    if (!code.empty()) return Refuse("include", file, code);
  }
  return {};
}

}  // namespace

SourceKind KindOfSource(const fs::path& path) {
  const std::string extension = path.extension().string();
  if (Holds(kHost, extension)) return SourceKind::kHost;
  if (extension == ".cu") return SourceKind::kDevice;
  return Holds(kHeaders, extension) ? SourceKind::kHeader : SourceKind::kOther;
}

Result<void> CheckSources(const Candidate& candidate) {
  for (const fs::path& source : candidate.sources) TRY(CheckSource(candidate, source));
  for (const fs::path& include : candidate.include_paths) {
    TRY(CheckIncludeFolder(candidate, include));
  }
  return {};
}

}  // namespace roofmark::candidate
