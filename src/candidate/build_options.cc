// SPDX-License-Identifier: Apache-2.0
#include "candidate/build_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace roofmark::candidate {
namespace {

// Starts of what is allowed, gcc's and nvcc's. Options of one word: a value is joined by "=".
constexpr std::array<std::string_view, 30> kAllowed = {"-D",
                                                       "-U",
                                                       "-O",
                                                       "-W",
                                                       "-f",
                                                       "-m",
                                                       "-g",
                                                       "-std=",
                                                       "--std=",
                                                       "-w",
                                                       "-pthread",
                                                       "-lineinfo",
                                                       "--use_fast_math",
                                                       "-use_fast_math",
                                                       "--maxrregcount=",
                                                       "-maxrregcount=",
                                                       "--expt-",
                                                       "-expt-",
                                                       "--extended-lambda",
                                                       "-extended-lambda",
                                                       "--extra-device-vectorization",
                                                       "--ftz=",
                                                       "--fmad=",
                                                       "--prec-div=",
                                                       "--prec-sqrt=",
                                                       "--restrict",
                                                       "-rdc=",
                                                       "--diag-suppress=",
                                                       "--threads=",
                                                       "--split-compile="};
constexpr std::array<std::string_view, 8> kLibraries = {
    "-lcuda", "-lm", "-lpthread", "-lgomp", "-ldl", "-lrt", "-latomic", "-lcudadevrt"};

// What ptxas alone understands, in its long form: how it compiles what nvcc gives it. It has others
// that give it other code (--input-as-string) or further options (--options-file).
constexpr std::array<std::string_view, 14> kPtxas = {"--allow-expensive-optimizations",
                                                     "--def-load-cache",
                                                     "--def-store-cache",
                                                     "--disable-optimizer-constants",
                                                     "--disable-warnings",
                                                     "--fmad",
                                                     "--force-load-cache",
                                                     "--force-store-cache",
                                                     "--maxrregcount",
                                                     "--opt-level",
                                                     "--register-usage-level",
                                                     "--suppress-",
                                                     "--verbose",
                                                     "--warn-on-"};

struct Refused {
  std::string_view start;
  std::string_view why;
};
constexpr std::string_view kOtherCode = "it brings in code that is not among the candidate's files";
constexpr std::string_view kElsewhere = "the judge decides what is made and where";
constexpr std::array<Refused, 29> kRefused = {{
    {"@", "it reads further options from a file"},
    {"-fplugin", "it loads code into the compiler"},
    {"-fpass-plugin", "it loads code into the compiler"},
    {"-fembed-offload-object", kOtherCode},
    {"-fprebuilt", kOtherCode},
    {"-specs", "it changes what the compiler runs"},
    {"--specs", "it changes what the compiler runs"},
    {"-wrapper", "it changes what the compiler runs"},
    {"-B", "it changes what the compiler runs"},
    {"-ccbin", "it changes what the compiler runs"},
    {"--compiler-bindir", "it changes what the compiler runs"},
    {"-fprofile", "it reads or writes files beside the sources"},
    {"-fdump", "it writes files beside the library"},
    {"-fsanitize", "it adds a run-time library to what is judged"},
    {"-Wl,", "the judge links the library itself"},
    {"-Wa,", "the assembler takes files of its own"},
    {"-Wp,", "the preprocessor takes files of its own"},
    {"-include", "write the #include into the source"},
    {"-imacros", "write the #include into the source"},
    {"-I", "list folders in include = [..]"},
    {"-isystem", "list folders in include = [..]"},
    {"-L", kOtherCode},
    {"-o", kElsewhere},
    {"-fatbin", kElsewhere},
    {"-fuse-ld", "it changes what the compiler runs"},
    {"-fmodule", "it changes what the compiler runs"},
    {"-gencode", "kernels are compiled for the GPU that they are judged on"},
    {"--gpu-", "kernels are compiled for the GPU that they are judged on"},
    {"-arch", "kernels are compiled for the GPU that they are judged on"},
}};

bool StartsWith(std::string_view option, std::string_view start) {
  return option.starts_with(start);
}

std::unexpected<Error> Refuse(std::string_view option, std::string_view why) {
  return Fail(
      ErrorKind::kInput,
      fmt::format("options: '{}' is not allowed: {}; allowed are {} and {}, each as one word "
                  "(-Xptxas=-v, not -Xptxas -v)",
                  option, why, fmt::join(kAllowed, " "), fmt::join(kLibraries, " ")));
}

// "-Xptxas=A,B", "-Xcompiler=A,B" and their long forms hand options on.
std::string_view HandedOn(std::string_view option) {
  for (const std::string_view start :
       {"-Xptxas=", "--ptxas-options=", "-Xcompiler=", "--compiler-options="}) {
    if (option.starts_with(start)) return option.substr(start.size());
  }
  return {};
}

Result<void> CheckOption(std::string_view option) {
  const auto refused = std::ranges::find_if(
      kRefused, [&](const Refused& one) { return StartsWith(option, one.start); });
  if (refused != kRefused.end()) return Refuse(option, refused->why);
  if (std::ranges::any_of(option, [](char c) { return c == '\0' || c == '\n'; })) {
    return Refuse(option, "it holds a control character");
  }
  if (option.starts_with("-l")) {
    const bool known =
        option == "-lineinfo" || (std::ranges::find(kLibraries, option) != kLibraries.end());
    if (known) return {};
    return Refuse(option, kOtherCode);
  }
  // What ptxas alone understands: verbosity, optimisation and register use.
  const bool to_ptxas = option.starts_with("-Xptxas=") || option.starts_with("--ptxas-options=");
  for (const std::string_view inner : Split(HandedOn(option), ',')) {
    if (inner.empty()) continue;
    const bool of_ptxas = to_ptxas && (inner == "-v" || inner.starts_with("-O") ||
                                       inner.starts_with("-dlcm=") || inner.starts_with("-warn") ||
                                       std::ranges::any_of(kPtxas, [inner](std::string_view one) {
                                         return inner.starts_with(one);
                                       }));
    if (!of_ptxas) TRY(CheckOption(inner));
  }
  if (!HandedOn(option).empty()) return {};
  if (std::ranges::any_of(kAllowed,
                          [&](std::string_view one) { return option.starts_with(one); })) {
    return {};
  }
  return Refuse(option, "it is not one that is known to be harmless");
}

constexpr std::array<std::string_view, 2> kHeaderLibraries = {"cutlass", "cub"};

// A number that a header defines: "#define CUTLASS_MAJOR 4".
std::string Defined(std::string_view text, std::string_view name) {
  for (const std::string_view line : Split(text, '\n')) {
    const size_t at = line.find(fmt::format(" {} ", name));
    if (!line.starts_with("#define") || at == std::string_view::npos) continue;
    const std::string_view value = Trim(line.substr(at + name.size() + 1));
    return std::string(value.substr(0, value.find(' ')));
  }
  return "?";
}

Result<std::vector<fs::path>> Cutlass() {
  const char* const named = std::getenv("ROOFMARK_CUTLASS");
  const fs::path root = named != nullptr && *named != '\0' ? named : "/usr/local/cutlass";
  for (const fs::path& include : {root / "include", root}) {
    if (!fs::exists(include / "cutlass/cutlass.h")) continue;
    std::vector<fs::path> folders = {include};
    const fs::path tools = root / "tools/util/include";
    if (fs::exists(tools)) folders.push_back(tools);
    return folders;
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("no CUTLASS at {}: clone github.com/NVIDIA/cutlass there, or name a "
                          "checkout in ROOFMARK_CUTLASS; or put its headers into the candidate's "
                          "own folder",
                          root.string()));
}

Result<std::vector<fs::path>> Cub() {
  for (const char* root : {"/usr/local/cuda/include", "/opt/cuda/include"}) {
    // CUDA 13 keeps CUB and Thrust one folder deeper.
    for (const fs::path& include : {fs::path(root) / "cccl", fs::path(root)}) {
      if (fs::exists(include / "cub/cub.cuh")) return std::vector<fs::path>{include};
    }
  }
  return Fail(ErrorKind::kNotFound, "no CUB: it comes with the CUDA toolkit (/usr/local/cuda)");
}

}  // namespace

Result<void> CheckOptions(const std::vector<std::string>& options) {
  for (const std::string& option : options) TRY(CheckOption(option));
  return {};
}

bool IsHeaderLibrary(std::string_view name) {
  return std::ranges::find(kHeaderLibraries, name) != kHeaderLibraries.end();
}

Result<std::vector<fs::path>> HeaderFolders(std::string_view library) {
  return library == "cutlass" ? Cutlass() : Cub();
}

std::string DescribeLibrary(std::string_view library) {
  const auto folders = HeaderFolders(library);
  if (!folders) return fmt::format("{} (missing)", library);
  std::string version;
  if (const auto text = ReadFile(folders->front() / "cutlass/version.h");
      text && library == "cutlass") {
    version = fmt::format(" {}.{}.{}", Defined(*text, "CUTLASS_MAJOR"),
                          Defined(*text, "CUTLASS_MINOR"), Defined(*text, "CUTLASS_PATCH"));
  }
  if (const auto text = ReadFile(folders->front() / "cub/version.cuh"); text && library == "cub") {
    version = fmt::format(" {}", Defined(*text, "CUB_VERSION"));
  }
  return fmt::format("{}{} ({})", library, version, folders->front().string());
}

}  // namespace roofmark::candidate
