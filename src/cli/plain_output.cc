// SPDX-License-Identifier: Apache-2.0
#include "cli/plain_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/text.h"

namespace roofmark::cli {
namespace {

// How many bytes a character has that begins with this one, by that byte alone; 1 for all that
// begin none.
size_t LengthFrom(char first) {
  const auto byte = static_cast<unsigned char>(first);
  if (byte >= 0xf0 && byte < 0xf8) return 4;
  if (byte >= 0xe0 && byte < 0xf0) return 3;
  return byte >= 0xc0 && byte < 0xe0 ? 2 : 1;
}

// Where the last character begins, if it may have bytes to come; else the end.
size_t EndOfWhole(std::string_view text) {
  constexpr size_t kLongest = 4;
  for (size_t back = 1; back < kLongest && back <= text.size(); ++back) {
    const char byte = text[text.size() - back];
    if (LengthFrom(byte) > back) return text.size() - back;
    if ((static_cast<unsigned char>(byte) & 0xc0U) != 0x80) break;
  }
  return text.size();
}

// Requires: UTF-8.
std::string Shown(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool c0 = byte < 0x20 && byte != '\n' && byte != '\t';
    // U+0080 to U+009F are 0xc2 and one byte more.
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (c0 || byte == 0x7f) {
      shown += fmt::format("\\u{:04x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

struct Stream {
  explicit Stream(int descriptor) : fd(descriptor) {}
  int fd;
  PlainText text;
};

ssize_t WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return -1;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// As fopencookie(3) wants it: 0 is an error. The cookie lives as long as the process.
ssize_t WritePlain(void* cookie, const char* data, size_t size) {
  auto* const stream = static_cast<Stream*>(cookie);
  const std::string plain = stream->text.Take({data, size});
  return WriteAll(stream->fd, plain) < 0 ? 0 : static_cast<ssize_t>(size);
}

std::FILE* Open(Stream* stream, int buffering) {
  std::FILE* const file = ::fopencookie(stream, "w", {.write = WritePlain});
  if (file != nullptr) (void)std::setvbuf(file, nullptr, buffering, BUFSIZ);
  return file;
}

}  // namespace

std::string PlainText::Take(std::string_view piece) {
  unfinished_ += piece;
  const size_t end = EndOfWhole(unfinished_);
  const std::string whole = ValidUtf8(std::string_view(unfinished_).substr(0, end));
  unfinished_.erase(0, end);
  return Shown(whole);
}

std::string PlainText::Rest() {
  const std::string rest = Shown(ValidUtf8(unfinished_));
  unfinished_.clear();
  return rest;
}

void MakeOutputPlain() {
  // Never destroyed: the C library flushes when all destructors have run.
  static Stream* const out = std::make_unique<Stream>(STDOUT_FILENO).release();
  static Stream* const err = std::make_unique<Stream>(STDERR_FILENO).release();
  if (std::FILE* const file = Open(out, ::isatty(STDOUT_FILENO) == 1 ? _IOLBF : _IOFBF)) {
    std::fflush(stdout);
    stdout = file;
  }
  if (std::FILE* const file = Open(err, _IONBF)) stderr = file;
}

}  // namespace roofmark::cli
