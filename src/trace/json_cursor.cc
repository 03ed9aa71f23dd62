// SPDX-License-Identifier: Apache-2.0
// Nesting is counted and not followed, so that depth costs nothing.
#include "trace/json_cursor.h"

#include <fmt/format.h>

#include <cstring>

namespace roofmark::trace {
namespace {

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

bool EndsScalar(char byte) {
  return byte == ',' || byte == ']' || byte == '}' || byte == ':' || IsSpace(byte);
}

}  // namespace

std::string JsonCursor::damage() const {
  switch (damage_) {
    case Damage::kNone:
      return source_.damage();
    case Damage::kEnded:
      return source_.damage().empty()
                 ? fmt::format("the document ends early, at byte {}", damaged_at_)
                 : source_.damage();
    case Damage::kMalformed:
      break;
  }
  return fmt::format("the document is malformed at byte {}", damaged_at_);
}

void JsonCursor::Broken(Damage damage) {
  if (damage_ != Damage::kNone) return;
  damage_ = damage;
  damaged_at_ = offset();
}

Result<bool> JsonCursor::Have() {
  while (at_ >= window_.size()) {
    window_.Drop(window_.size());
    at_ = 0;
    if (!TRY(window_.Grow())) return false;
  }
  return true;
}

Result<char> JsonCursor::Peek() {
  if (damage_ != Damage::kNone) return '\0';
  while (TRY(Have())) {
    const char byte = window_.data()[at_];
    if (byte == '\0') {
      Broken(Damage::kMalformed);
      return '\0';
    }
    if (!IsSpace(byte)) return byte;
    ++at_;
  }
  Broken(Damage::kEnded);
  return '\0';
}

Result<bool> JsonCursor::Enter(char open) {
  const char next = TRY(Peek());
  if (next == '\0') return false;
  if (next != open) {
    TRY(SkipValue());
    return false;
  }
  ++at_;
  first_ = true;
  return true;
}

Result<bool> JsonCursor::NextElement() {
  const bool first = std::exchange(first_, false);
  char next = TRY(Peek());
  if (next == ']') {
    ++at_;
    return false;
  }
  if (!first) {
    if (next != ',') {
      if (next != '\0') Broken(Damage::kMalformed);
      return false;
    }
    ++at_;
    next = TRY(Peek());
  }
  if (next == ']') {  // a comma before the end, as some tools write
    ++at_;
    return false;
  }
  return next != '\0';
}

Result<bool> JsonCursor::NextKey(std::string& key) {
  const bool first = std::exchange(first_, false);
  char next = TRY(Peek());
  if (!first && next == ',') {
    ++at_;
    next = TRY(Peek());
  } else if (!first && next != '}') {
    if (next != '\0') Broken(Damage::kMalformed);
    return false;
  }
  if (next == '}') {
    ++at_;
    return false;
  }
  if (next != '"') {
    if (next != '\0') Broken(Damage::kMalformed);
    return false;
  }
  key.clear();
  TRY(String(&key, kMaxText));
  key = key.size() >= 2 ? key.substr(1, key.size() - 2) : std::string();
  if (TRY(Peek()) != ':') {
    if (damage_ == Damage::kNone) Broken(Damage::kMalformed);
    return false;
  }
  ++at_;
  return true;
}

// Reads a string with its quotes. Requires: at its first quote.
Result<void> JsonCursor::String(std::string* text, size_t limit) {
  bool opened = false;
  bool escaped = false;
  while (TRY(Have())) {
    const char* begin = window_.data() + at_;
    const char* end = window_.data() + window_.size();
    const char* at = begin;
    bool closed = false;
    for (; at != end && !closed; ++at) {
      if (escaped) {
        escaped = false;
      } else if (*at == '\\') {
        escaped = true;
      } else if (*at == '"') {
        closed = opened;
        opened = true;
      }
    }
    const auto count = static_cast<size_t>(at - begin);
    if (text != nullptr && text->size() < limit) {
      text->append(begin, std::min(count, limit - text->size()));
    }
    at_ += count;
    if (closed) return {};
  }
  Broken(Damage::kEnded);
  return {};
}

Result<void> JsonCursor::Value(std::string* text, size_t limit) {
  int64_t depth = 0;
  const auto put = [&](char byte) {
    if (text != nullptr && text->size() < limit) *text += byte;
  };
  while (true) {
    const char next = TRY(Peek());
    if (next == '\0') return {};
    if (next == '"') {
      TRY(String(text, limit));
    } else if (next == '{' || next == '[') {
      ++depth;
      put(next);
      ++at_;
    } else if (next == '}' || next == ']' || next == ',' || next == ':') {
      const bool closes = next == '}' || next == ']';
      if (depth == 0) {
        Broken(Damage::kMalformed);
        return {};
      }
      if (closes) --depth;
      put(next);
      ++at_;
    } else {
      while (TRY(Have()) && !EndsScalar(window_.data()[at_])) put(window_.data()[at_++]);
    }
    if (depth == 0 || damage_ != Damage::kNone) return {};
  }
}

Result<void> JsonCursor::SkipValue() {
  first_ = false;
  return Value(nullptr, 0);
}

Result<std::string> JsonCursor::Raw() {
  first_ = false;
  std::string text;
  TRY(Value(&text, kMaxText));
  if (text.size() >= kMaxText || damage_ != Damage::kNone) text.clear();
  return text;
}

Result<std::string> JsonCursor::Scalar() {
  first_ = false;
  const char next = TRY(Peek());
  std::string text;
  if (next == '{' || next == '[') {
    TRY(Value(nullptr, 0));
    return text;
  }
  TRY(Value(&text, kMaxText));
  if (damage_ != Damage::kNone) return std::string();
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    return text.substr(1, text.size() - 2);
  }
  return text;
}

}  // namespace roofmark::trace
