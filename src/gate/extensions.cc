// SPDX-License-Identifier: Apache-2.0
#include "gate/extensions.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/files.h"
#include "gate/clear_text.h"
#include "gate/scratch_files.h"

namespace roofmark::gate {
namespace {

constexpr uint64_t kMostSourceBytes = uint64_t{16} << 20;
constexpr std::string_view kObject = ".cuda.o";

// The source that an object was made of.
std::optional<std::string> SourceOf(const fs::path& object,
                                    const std::map<std::string, std::string>& sources) {
  const std::string file = object.filename().string();
  const std::string name = file.substr(0, file.size() - kObject.size()) + ".cu";
  const fs::path beside = object.parent_path() / name;
  std::error_code ignored;
  if (fs::is_regular_file(fs::symlink_status(beside, ignored))) {
    const Result<std::string> text = ReadFile(beside, kMostSourceBytes);
    return text ? std::optional(*text) : std::nullopt;
  }
  const auto own = sources.find(name);
  return own == sources.end() ? std::nullopt : std::optional(own->second);
}

}  // namespace

std::vector<BuiltExtension> FindExtensions(const fs::path& scratch,
                                           const std::map<std::string, std::string>& sources,
                                           const std::vector<std::string>& clear_kernels) {
  if (clear_kernels.empty()) return {};
  std::map<fs::path, std::vector<std::string>> kernels;  // by folder
  for (const fs::path& object : ScratchFiles(scratch, ".o")) {
    if (!object.filename().string().ends_with(kObject)) continue;
    const std::optional<std::string> source = SourceOf(object, sources);
    if (!source) continue;
    for (std::string& name : CudaKernelNames(*source)) {
      if (std::ranges::find(clear_kernels, name) == clear_kernels.end()) continue;
      kernels[object.parent_path()].push_back(std::move(name));
    }
  }
  std::vector<BuiltExtension> found;
  for (const fs::path& library : ScratchFiles(scratch, ".so")) {
    const auto of = kernels.find(library.parent_path());
    if (of == kernels.end()) continue;
    found.push_back({library.lexically_relative(scratch).string(), of->second});
  }
  return found;
}

}  // namespace roofmark::gate
