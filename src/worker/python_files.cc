// SPDX-License-Identifier: Apache-2.0
#include "worker/python_files.h"

#include "worker/launcher.h"

namespace roofmark::worker {

// Defined from the files in worker/python at build time.
extern const size_t kEmbeddedCount;
extern const std::string_view kEmbeddedPaths[];
extern const std::string_view* const kEmbeddedTexts[];

namespace {

constexpr const char* kFolder = "/roofmark";

bool IsFor(PythonAudience audience, std::string_view path) {
  if (path.starts_with("python/roofmark_ref/")) return audience != PythonAudience::kCandidate;
  const bool of_importer =
      path.starts_with("python/roofmark_importer") || path.starts_with("python/roofmark_describe");
  return !of_importer || audience == PythonAudience::kImporter;
}

}  // namespace

void AddPythonFiles(PythonAudience audience, std::vector<TreeEntry>* tree) {
  constexpr std::string_view kHere = "python";
  for (size_t i = 0; i < kEmbeddedCount; ++i) {
    if (!IsFor(audience, kEmbeddedPaths[i])) continue;
    tree->push_back({.step = TreeStep::kText,
                     .target = kFolder + std::string(kEmbeddedPaths[i].substr(kHere.size())),
                     .text = std::string(*kEmbeddedTexts[i])});
  }
}

std::vector<std::string> PythonCommand(const std::string& interpreter, std::string_view role,
                                       std::string_view device) {
  if (role == kRecompilerRole) {
    return {interpreter, "-s", "-B", std::string(kFolder) + "/roofmark_recompile.py",
            kSocketPlaceholder};
  }
  return {interpreter,
          "-s",
          "-B",
          std::string(kFolder) + "/roofmark_main.py",
          std::string(role),
          std::string(device),
          kSocketPlaceholder};
}

}  // namespace roofmark::worker
