// SPDX-License-Identifier: Apache-2.0
#include "candidate/plan_nvrtc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "candidate/source_files.h"

namespace roofmark::candidate {
namespace {

// Words reach the shell as "$1" "$2".., so nothing of a candidate is read as shell text. For each
// device source: its path, its cubin, and the line that places the cubin into the library.
constexpr const char* kScript = R"sh(
set -e
out=$1; compiler=$2; nvrtc=$3; program=$4; shift 4
mkdir -p "$out/cubins"
"$compiler" -std=c++20 -O1 -o "$out/nvrtc" "$program" -ldl
devices=$1; shift
: > "$out/cubins.s"
while [ "$devices" -gt 0 ]; do
  source=$1; symbol=$2; shift 2
  options=$1; shift
  "$out/nvrtc" "$nvrtc" "$source" "$out/cubins/$symbol.cubin" $options
  {
    echo '.section .rodata'
    echo '.balign 64'
    echo ".global roofmark_cubin_$symbol"
    echo ".type roofmark_cubin_$symbol, @object"
    echo "roofmark_cubin_$symbol:"
    echo ".incbin \"$out/cubins/$symbol.cubin\""
    echo ".size roofmark_cubin_$symbol, . - roofmark_cubin_$symbol"
  } >> "$out/cubins.s"
  devices=$((devices - 1))
done
echo '.section .note.GNU-stack,"",@progbits' >> "$out/cubins.s"
exec "$compiler" "$@" "$out/cubins.s" -ldl -o "$out/candidate.so"
)sh";

bool IsSymbol(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  });
}

// Those of the candidate's options that device code can use.
bool IsForNvrtc(const std::string& option) {
  for (const char* start : {"-D", "-U", "-std=", "--std=", "--use_fast_math", "-use_fast_math",
                            "--maxrregcount=", "-maxrregcount=", "--ftz=", "--fmad=", "--prec-div=",
                            "--prec-sqrt=", "-lineinfo", "--extra-device-vectorization"}) {
    if (option.starts_with(start)) return true;
  }
  return false;
}

bool IsForHost(const std::string& option) {
  for (const char* start : {"-D", "-U", "-O", "-W", "-f", "-m", "-g", "-std=", "-w", "-pthread"}) {
    if (option.starts_with(start)) return true;
  }
  return option.starts_with("-l") && option != "-lineinfo";
}

// Options travel as one word that the script splits at spaces.
Result<std::string> DeviceOptions(const Candidate& candidate, const std::string& arch,
                                  const std::vector<std::string>& includes) {
  std::vector<std::string> words = {"--gpu-architecture=" + arch, "--std=c++20", "-default-device"};
  words.insert(words.end(), includes.begin(), includes.end());
  for (const char* toolkit : {"/usr/local/cuda/include", "/opt/cuda/include"}) {
    if (fs::exists(toolkit)) words.push_back(std::string("-I") + toolkit);
  }
  std::ranges::copy_if(candidate.options, std::back_inserter(words), IsForNvrtc);
  for (const std::string& word : words) {
    if (word.find_first_of(" \t*?[") != std::string::npos) {
      return Fail(ErrorKind::kInput,
                  fmt::format("options: '{}' holds a space or a wildcard, which compiler = "
                              "\"nvrtc\" does not take; write it as a constant into the source",
                              word));
    }
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace

Result<BuildPlan> PlanNvrtc(const Candidate& candidate, const NvrtcTools& tools,
                            const fs::path& source_dir, const fs::path& out_dir,
                            const std::string& arch, const std::vector<std::string>& includes) {
  std::vector<fs::path> device;
  std::vector<std::string> host = {"-std=c++20", "-O3", "-shared", "-fPIC", "-Wl,-z,defs"};
  host.insert(host.end(), includes.begin(), includes.end());
  std::ranges::copy_if(candidate.options, std::back_inserter(host), IsForHost);
  bool has_host = false;
  for (const fs::path& source : candidate.sources) {
    const SourceKind kind = KindOfSource(source);
    if (kind == SourceKind::kDevice) device.push_back(source);
    if (kind == SourceKind::kHost) {
      host.push_back((source_dir / source).string());
      has_host = true;
    }
  }
  if (device.empty() || !has_host) {
    return Fail(
        ErrorKind::kInput,
        "compiler = \"nvrtc\" needs device code in .cu sources and host code, with run(), in "
        "a .cc source that includes \"roofmark/driver.h\" (docs/lanes.md has one)");
  }
  BuildPlan plan{.library = out_dir / "candidate.so", .device_code = out_dir / "cubins"};
  plan.command = {"/bin/sh",
                  "-c",
                  kScript,
                  "nvrtc",
                  out_dir.string(),
                  tools.compiler,
                  tools.nvrtc,
                  "/include/roofmark/nvrtc.cc",
                  fmt::format("{}", device.size())};
  plan.shown = {fs::path(tools.nvrtc).parent_path()};
  const std::string options = TRY(DeviceOptions(candidate, arch, includes));
  for (const fs::path& source : device) {
    const std::string symbol = source.stem().string();
    if (!IsSymbol(symbol)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("sources: '{}' becomes a symbol with compiler = \"nvrtc\"; use "
                              "letters, digits and _ in its name",
                              source.string()));
    }
    plan.command.insert(plan.command.end(), {(source_dir / source).string(), symbol, options});
  }
  plan.command.insert(plan.command.end(), host.begin(), host.end());
  return plan;
}

}  // namespace roofmark::candidate
