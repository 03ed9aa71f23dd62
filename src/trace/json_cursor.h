// SPDX-License-Identifier: Apache-2.0
// Walks a JSON document of any size from its beginning to its end, holding one value at a time. The
// caller asks for what it knows (the members of this object, the elements of that array) and skips
// the rest. A document that ends early or is malformed ends there: every question is then answered
// by no, and damage() says where.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/window.h"

namespace roofmark::trace {

class JsonCursor {
 public:
  // Longer texts come as their beginning.
  static constexpr size_t kMaxText = 1 << 20;

  explicit JsonCursor(ByteSource& source) : source_(source), window_(source) {}

  // Whether the next value is an object (array), which is then entered; otherwise it is skipped.
  Result<bool> EnterObject() { return Enter('{'); }
  Result<bool> EnterArray() { return Enter('['); }
  // Requires: in an object, at a member. Whether there is one; its value comes next. After the last
  // one the object is left.
  Result<bool> NextKey(std::string& key);
  // Requires: in an array. Whether there is an element, which comes next; else the array is left.
  Result<bool> NextElement();

  Result<void> SkipValue();
  // A string without its quotes and with its escapes, or a number, or a word, as written. An object
  // or array is skipped and gives an empty text.
  Result<std::string> Scalar();
  // Any value as written, without the spaces around it; at most kMaxText bytes, else empty.
  Result<std::string> Raw();

  bool truncated() const { return damage_ == Damage::kEnded; }
  // What is wrong and at which byte; empty where the document is sound so far.
  std::string damage() const;
  uint64_t offset() const { return window_.offset() + at_; }

 private:
  enum class Damage { kNone, kEnded, kMalformed };
  Result<bool> Enter(char open);
  // The next byte that is no space, '\0' at the end or after damage.
  Result<char> Peek();
  // Reads on so that the byte at `at_` is there; false at the end.
  Result<bool> Have();
  Result<void> Value(std::string* text, size_t limit);
  Result<void> String(std::string* text, size_t limit);
  void Broken(Damage damage);

  ByteSource& source_;
  Window window_;
  size_t at_ = 0;
  bool first_ = false;  // just entered an object or array
  Damage damage_ = Damage::kNone;
  uint64_t damaged_at_ = 0;
};

}  // namespace roofmark::trace
