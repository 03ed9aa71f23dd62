// SPDX-License-Identifier: Apache-2.0
#include "trace/csv_lines.h"

namespace roofmark::trace {

Result<bool> CsvLines::Next() {
  window_.Drop(drop_);
  drop_ = 0;
  broken_ = false;
  bool quoted = false;
  size_t at = 0;
  while (true) {
    const std::string_view text = window_.text();
    for (; at < text.size(); ++at) {
      if (text[at] == '"') quoted = !quoted;
      if (text[at] == '\n' && !quoted) {
        drop_ = bytes_ = at + 1;
        Cut(text.substr(0, at));
        return true;
      }
      if (at >= kMaxRecord) break;
    }
    if (at >= kMaxRecord) {
      // Go on at the next line, whatever is quoted there.
      const size_t line = text.find('\n');
      drop_ = bytes_ = line == std::string_view::npos ? at : line + 1;
      broken_ = true;
      fields_.clear();
      return true;
    }
    if (!TRY(window_.Grow())) break;
  }
  const std::string_view rest = window_.text();
  if (rest.empty()) return false;
  drop_ = bytes_ = rest.size();
  Cut(rest);
  broken_ = quoted;
  return true;
}

// A field without its quotes; doubled quotes inside stand for one.
void CsvLines::Cut(std::string_view record) {
  if (record.ends_with('\r')) record.remove_suffix(1);
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(record.size());  // views into it stay
  size_t at = 0;
  while (true) {
    if (at < record.size() && record[at] == '"') {
      const size_t begin = unquoted_.size();
      for (++at; at < record.size(); ++at) {
        if (record[at] != '"') {
          unquoted_ += record[at];
        } else if (record.substr(at + 1).starts_with('"')) {
          unquoted_ += record[at++];
        } else {
          break;
        }
      }
      fields_.push_back(std::string_view(unquoted_).substr(begin));
      at = record.find(',', at);
    } else {
      const size_t comma = record.find(',', at);
      fields_.push_back(record.substr(at, comma == std::string_view::npos ? comma : comma - at));
      at = comma;
    }
    if (at == std::string_view::npos) return;
    ++at;
  }
}

}  // namespace roofmark::trace
