// SPDX-License-Identifier: Apache-2.0
// The bytes of a profile, whatever its container: plain text, gzip or zstd, from a file or from
// memory. The container is recognised by its magic number, not by the file's name, and may have
// several members or frames.
// Profiles are written by processes that crash and disks that fill up, so damage at the end is not
// an error: what came before it is delivered, and damaged() says so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/mapped_file.h"

namespace roofmark::trace {

class ByteSource {
 public:
  // Errors: kNotFound, kIo.
  static Result<ByteSource> OpenFile(const std::filesystem::path& path);
  // Borrows `bytes`, which must outlive the source.
  static ByteSource FromMemory(std::string_view bytes);

  ByteSource(ByteSource&&) noexcept;
  ByteSource& operator=(ByteSource&&) noexcept;
  ~ByteSource();

  // Fills `to` with up to `capacity` bytes and returns how many; 0 only at the end. Of a gzip
  // stream that is damaged within the next 64 KiB, up to that much of what lies before the damage
  // may be missing: ISA-L inflates ahead, and what it made there is lost with it. Errors: kIo when
  // the operating system fails to read.
  Result<size_t> Read(char* to, size_t capacity);

  // Goes back to the beginning. Errors: kIo.
  Result<void> Restart();

  // All but the end of a large plain file, to be read there instead of being copied; nullptr where
  // this is none, or something has been read already. Lives until Restart. Errors: kIo.
  Result<MappedFile*> Map();
  // Goes on with Read behind the first `offset` bytes of a mapped file; what was missing among them
  // is damage. Errors: kIo.
  Result<void> ReadOn(size_t offset, bool missing);

  bool compressed() const;
  uint64_t stored_bytes() const;  // bytes read from the file so far
  uint64_t bytes() const;         // bytes delivered so far
  // The compressed stream ended early or did not decode; empty where all is well.
  const std::string& damage() const;

 private:
  struct State;
  explicit ByteSource(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace roofmark::trace
