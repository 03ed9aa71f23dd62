// SPDX-License-Identifier: Apache-2.0
#include "gate/clear_text.h"

#include <algorithm>

#include "base/ascii.h"

namespace roofmark::gate {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\f';
}

size_t EndOfLine(std::string_view text, size_t at) {
  return std::min(text.size(), text.find('\n', at));
}

// Where the pair of this '(' is; npos = nowhere.
size_t Closing(std::string_view text, size_t at) {
  for (size_t depth = 0; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at;
  }
  return std::string_view::npos;
}

// Adds the name of a function that is defined in `rest`, behind __global__: the word before its
// parameters, past attributes such as __launch_bounds__(256).
void AddFunctionName(std::string_view rest, std::vector<std::string>* names) {
  std::string_view word;
  for (size_t at = 0; at < rest.size();) {
    if (IsNameByte(rest[at])) {
      size_t end = at;
      while (end < rest.size() && IsNameByte(rest[end])) ++end;
      word = rest.substr(at, end - at);
      at = end;
    } else if (rest[at] == '(') {
      if (word.empty()) return;
      at = Closing(rest, at);
      if (at == std::string_view::npos) return;
      if (!word.starts_with("__")) {
        const size_t next = rest.find_first_of("{;", at);
        if (next != std::string_view::npos && rest[next] == '{') names->emplace_back(word);
        return;
      }
      ++at;
    } else if (rest[at] == ';' || rest[at] == '{') {
      return;
    } else {
      ++at;
    }
  }
}

// Reads through Python, one token after the other.
class PythonReader {
 public:
  explicit PythonReader(std::string_view text) : text_(text) {}

  std::string Strings() {
    while (at_ < text_.size()) Step();
    return std::move(strings_);
  }

 private:
  void Step() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = EndOfLine(text_, at_);
    } else if (c == '"' || c == '\'') {
      ReadString(false);
    } else if (IsNameByte(c)) {
      ReadWord();
    } else {
      if (c == '(' || c == '[' || c == '{') ++depth_;
      if ((c == ')' || c == ']' || c == '}') && depth_ > 0) --depth_;
      if (c == '\n') fresh_ = depth_ == 0 && !(at_ > 0 && text_[at_ - 1] == '\\');
      if (c != '\n' && !IsBlank(c)) fresh_ = false;
      if (c == ';' && depth_ == 0) fresh_ = true;
      ++at_;
    }
  }
  // A word, which may be the prefix of a string: r"...", Rb'...'.
  void ReadWord() {
    const size_t begin = at_;
    while (at_ < text_.size() && IsNameByte(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    const bool prefix =
        word.size() <= 2 && word.find_first_not_of("rRbBuUfFtT") == std::string_view::npos;
    if (prefix && at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) {
      return ReadString(word.find_first_of("rR") != std::string_view::npos);
    }
    fresh_ = false;
  }
  void ReadString(bool raw) {
    const bool statement = fresh_;
    fresh_ = false;
    const char quote = text_[at_];
    const std::string three(3, quote);
    const std::string end = text_.substr(at_).starts_with(three) ? three : std::string(1, quote);
    for (at_ += end.size(); at_ < text_.size(); ++at_) {
      if (text_.substr(at_).starts_with(end)) {
        at_ += end.size();
        break;
      }
      if (end.size() == 1 && text_[at_] == '\n') break;
      const bool escaped = text_[at_] == '\\' && at_ + 1 < text_.size();
      if (escaped) ++at_;
      if (statement) continue;
      if (escaped && (raw || text_[at_] != 'n')) strings_ += '\\';
      strings_ += escaped && !raw && text_[at_] == 'n' ? '\n' : text_[at_];
    }
    if (!statement) strings_ += '\n';
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t depth_ = 0;   // of brackets
  bool fresh_ = true;  // a statement may begin here
  std::string strings_;
};

// Where a literal that begins here ends: "...", '...' or R"x(...)x".
size_t EndOfLiteral(std::string_view text, size_t at) {
  const bool raw = text[at] == '"' && at > 0 && text[at - 1] == 'R';
  const size_t open = raw ? text.find('(', at) : std::string_view::npos;
  if (open != std::string_view::npos) {
    std::string close(1, ')');
    close += text.substr(at + 1, open - at - 1);
    close += '"';
    const size_t end = text.find(close, open);
    return end == std::string_view::npos ? text.size() : end + close.size();
  }
  const char quote = text[at];
  for (++at; at < text.size() && text[at] != '\n'; ++at) {
    if (text[at] == quote) return at + 1;
    if (text[at] == '\\') ++at;
  }
  return std::min(at, text.size());
}

}  // namespace

std::string PythonStrings(std::string_view python) {
  return PythonReader(python).Strings();
}

std::string WithoutComments(std::string_view cxx) {
  std::string clear;
  for (size_t at = 0; at < cxx.size();) {
    const std::string_view rest = cxx.substr(at);
    const bool separator = at > 0 && cxx[at] == '\'' && IsNameByte(cxx[at - 1]);  // 1'000
    size_t end = at;
    if (rest.starts_with("//")) {
      end = EndOfLine(cxx, at);
      // A line that ends so goes on in the next one.
      while (end < cxx.size() && cxx[end - 1] == '\\') end = EndOfLine(cxx, end + 1);
    } else if (rest.starts_with("/*")) {
      const size_t close = cxx.find("*/", at + 2);
      end = close == std::string_view::npos ? cxx.size() : close + 2;
    } else if (rest[0] == '"' || (rest[0] == '\'' && !separator)) {
      end = EndOfLiteral(cxx, at);
    }
    if (end == at) {
      clear += cxx[at++];
    } else {
      clear += ' ';
      at = end;
    }
  }
  return clear;
}

std::vector<std::string> CudaKernelNames(std::string_view cuda) {
  constexpr std::string_view kGlobal = "__global__";
  constexpr size_t kLongestDeclaration = 4000;
  const std::string text = WithoutComments(cuda);
  std::vector<std::string> names;
  for (size_t at = text.find(kGlobal); at != text.npos; at = text.find(kGlobal, at)) {
    at += kGlobal.size();
    AddFunctionName(std::string_view(text).substr(at, kLongestDeclaration), &names);
  }
  return names;
}

}  // namespace roofmark::gate
