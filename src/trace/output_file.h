// SPDX-License-Identifier: Apache-2.0
// A large file that is written piece by piece, plain or as gzip by its name.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace roofmark::trace {

class OutputFile {
 public:
  // Errors: kIo.
  static Result<OutputFile> Create(const std::filesystem::path& path);
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;
  ~OutputFile();

  // Errors: kIo, such as a full disk.
  Result<void> Write(std::string_view text);
  // Requires: nothing is written afterwards.
  Result<void> Finish();
  uint64_t bytes() const;  // before compression

 private:
  struct State;
  explicit OutputFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace roofmark::trace
