// SPDX-License-Identifier: Apache-2.0
#include "trace/event_layout.h"

#include <algorithm>
#include <utility>

namespace roofmark::trace {
namespace {

constexpr std::string_view kTime = "\"ts\"";
constexpr std::string_view kArgs = "\"args\"";

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

class Writer {
 public:
  Writer(std::string_view event, EventLayout layout) : left_(event), layout_(layout) {
    out_.reserve(2 * event.size());
  }

  std::string Run() {
    while (!left_.empty()) {
      const char byte = left_.front();
      if (IsSpace(byte)) {
        left_.remove_prefix(1);
      } else if (byte == '"') {
        String();
      } else {
        left_.remove_prefix(1);
        Mark(byte);
      }
    }
    return std::move(out_);
  }

 private:
  void String() {
    size_t end = 1;
    while (end < left_.size() && left_[end] != '"') end += left_[end] == '\\' ? 2 : 1;
    end = std::min(end + 1, left_.size());
    const std::string_view text = left_.substr(0, end);
    out_ += text;
    if (depth_ == 1) key_ = text;
    left_.remove_prefix(end);
  }

  void Mark(char byte) {
    const bool lines = layout_ == EventLayout::kNative && !Empty(byte);
    // Lists and objects within args stay on their line.
    const bool outer = depth_ == 0 || (depth_ == 1 && byte == '{' && key_ == kArgs);
    switch (byte) {
      case '{':
      case '[':
        out_ += byte;
        if (lines && outer) out_ += depth_ == 0 ? "\n    " : "\n      ";
        if (outer && depth_ == 1) args_ = true;
        ++depth_;
        return;
      case '}':
      case ']':
        --depth_;
        if (lines && depth_ == 0) out_ += "\n  ";
        if (lines && depth_ == 1 && args_) out_ += "\n    ";
        if (depth_ == 1) args_ = false;
        out_ += byte;
        return;
      case ',':
        out_ += lines && depth_ == 1 && BeginsLine() ? ",\n    " : ", ";
        return;
      case ':':
        out_ += ": ";
        return;
      default:
        out_ += byte;
    }
  }

  std::string_view Next() const {
    size_t at = 0;
    while (at < left_.size() && IsSpace(left_[at])) ++at;
    return left_.substr(at);
  }
  bool BeginsLine() const { return Next().starts_with(kTime) || Next().starts_with(kArgs); }
  // Whether the bracket is that of an object without members.
  bool Empty(char byte) const {
    return byte == '{' ? Next().starts_with('}') : byte == '}' && out_.ends_with('{');
  }

  std::string_view left_;
  EventLayout layout_;
  std::string out_;
  std::string_view key_;  // the last text of the event itself
  size_t depth_ = 0;
  bool args_ = false;  // inside them
};

}  // namespace

std::string WithLayout(std::string_view event, EventLayout layout) {
  return Writer(event, layout).Run();
}

}  // namespace roofmark::trace
