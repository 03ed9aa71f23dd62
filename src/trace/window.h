// SPDX-License-Identifier: Apache-2.0
// The part of a profile that is in memory: a contiguous buffer that slides over the source. It
// grows only when one event does not fit. A large plain file is not copied there: the window then
// slides over its pages, and only the end of the file is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/mapped_file.h"

namespace roofmark::trace {

class Window {
 public:
  // That many bytes after size() are readable, and are spaces at the end of the source.
  static constexpr size_t kPadding = 128;

  explicit Window(ByteSource& source);

  const char* data() const { return base_ + begin_; }
  size_t size() const { return end_ - begin_; }
  std::string_view text() const { return {data(), size()}; }
  uint64_t offset() const { return offset_; }  // of data()[0] in the inflated profile

  // Forgets the first `count` bytes. Requires: count <= size().
  void Drop(size_t count);
  // Appends bytes of the source; false when there are none left. Moves data(). Errors: kIo.
  Result<bool> Grow();

 private:
  bool GrowMapped();
  Result<void> LeaveMapped();

  ByteSource& source_;
  MappedFile* mapped_ = nullptr;  // where base_ points into it
  const char* base_ = nullptr;
  std::vector<char> buffer_;
  size_t begin_ = 0;
  size_t end_ = 0;
  uint64_t offset_ = 0;
  bool started_ = false;
  bool ended_ = false;
};

}  // namespace roofmark::trace
