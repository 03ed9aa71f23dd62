// SPDX-License-Identifier: Apache-2.0
// A file in memory without a copy, a part at a time. The file may shrink or fail meanwhile, as
// profiles do that are written again: what is gone then reads as zeros instead of ending the
// process, and the reader is told.
#pragma once

#include <cstddef>
#include <memory>

namespace roofmark::trace {

class MappedFile {
 public:
  // The first `size` bytes of the open file, or nothing where that cannot be: no regular file, no
  // room in the table of mappings, an old kernel. Requires: size > 0.
  static std::unique_ptr<MappedFile> Map(int fd, size_t size);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  // Makes the bytes before `end` ready, and lets go of those before `begin`, which may be read
  // again nevertheless. False where they cannot be read: the file has shrunk, or fails.
  bool Slide(size_t begin, size_t end);
  // Whether bytes that were ready have gone since, and read as zeros.
  bool shrank() const;

 private:
  MappedFile(const char* data, size_t size, size_t slot) : data_(data), size_(size), slot_(slot) {}

  const char* data_;
  size_t size_;
  size_t slot_;        // in the table of mappings
  size_t ready_ = 0;   // end of what is in memory
  size_t let_go_ = 0;  // end of what is no more
};

}  // namespace roofmark::trace
