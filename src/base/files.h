// SPDX-License-Identifier: Apache-2.0
// Files and folders. Writing is atomic (a temporary beside the target, then a rename), so a killed
// process never leaves half a document.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace roofmark {

namespace fs = std::filesystem;

// Errors: kNotFound, kIo, or kInput when the file is larger than `max_bytes`.
Result<std::string> ReadFile(const fs::path& path, uint64_t max_bytes = uint64_t{1} << 30);
Result<void> WriteFile(const fs::path& path, std::string_view text);

// ReadFile and parse; errors name the file.
Result<Json> ReadJson(const fs::path& path);
Result<Json> ReadToml(const fs::path& path);
// One document a line; blank lines are skipped; errors name file and line.
Result<std::vector<Json>> ReadJsonLines(const fs::path& path);

// The entries of a folder, sorted by name.
Result<std::vector<fs::path>> ListFolder(const fs::path& path);

// Where operators/, devices/, rules/, candidates/ and examples/ are: $ROOFMARK_DATA, or
// ../share/roofmark beside the binary, or the source tree that the binary was built from.
Result<fs::path> DataDir();
// Where folders of operators are: DataDir()/operators, then each folder that $ROOFMARK_OPERATORS
// names (separated by colons), so that a user's own operators need no place in Roofmark's tree.
// Errors: kNotFound for one that does not exist.
Result<std::vector<fs::path>> OperatorFolders();
// The interpreter with PyTorch: $ROOFMARK_PYTHON, or /usr/bin/python3, or python3 on PATH.
std::string PythonPath();

// A fresh folder under $TMPDIR that is removed with everything in it.
class TempDir {
 public:
  static Result<TempDir> Make(std::string_view prefix);
  TempDir(TempDir&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  TempDir& operator=(TempDir&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  TempDir(const TempDir&) = delete;
  ~TempDir();
  const fs::path& path() const { return path_; }

 private:
  explicit TempDir(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

}  // namespace roofmark
