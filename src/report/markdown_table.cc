// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "base/text.h"
#include "report/markdown_table_internal.h"

namespace roofmark::report {
namespace {

// Code points, which is what a terminal shows for the text that names and reasons are made of.
size_t Width(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool IsWord(std::string_view text, size_t i) {
  return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])) != 0;
}

bool IsBidiControl(std::string_view utf8) {
  if (!utf8.starts_with("\xe2") || utf8.size() < 3) return false;
  const auto last = static_cast<unsigned char>(utf8[2]);
  return (utf8[1] == '\x80' && last >= 0xAA && last <= 0xAE) ||
         (utf8[1] == '\x81' && last >= 0xA6 && last <= 0xA9);
}

std::string Padded(const std::string& text, size_t width, Align align) {
  const std::string pad(width - std::min(width, Width(text)), ' ');
  return align == Align::kRight ? pad + text : text + pad;
}

}  // namespace

std::string EscapeMarkdown(std::string_view untrusted) {
  const std::string text = ValidUtf8(untrusted);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      if (!out.empty() && out.back() != ' ') out.push_back(' ');
      continue;
    }
    // U+0080..U+009F are control characters too, and some terminals obey them.
    if (byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) {
      out.push_back(' ');
      ++i;
      continue;
    }
    // Bidirectional controls (U+202A..202E, U+2066..2069) could show a name as another one.
    if (IsBidiControl(std::string_view(text).substr(i, 3))) {
      out += "\xef\xbf\xbd";
      i += 2;
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (std::string_view("\\`*[]|~!").find(c) != std::string_view::npos) {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '_' && !(i > 0 && IsWord(text, i - 1) && IsWord(text, i + 1))) {
      out += "\\_";  // inside a word it is no emphasis, and names stay readable
    } else {
      out.push_back(c);
    }
  }
  // Bare addresses become links on code hosts.
  for (size_t at = out.find("://"); at != std::string::npos; at = out.find("://", at + 4)) {
    out.replace(at, 1, "\\:");
  }
  return out;
}

void MarkdownTable::Add(const std::vector<std::string>& cells) {
  CHECK(cells.size() == columns_.size());
  std::vector<std::string>& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(EscapeMarkdown(cell));
}

std::string MarkdownTable::Print() const {
  if (rows_.empty()) return "";
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t width = std::max<size_t>(3, Width(columns_[c].title));
    // A long reason in the last column must not pad every other row to its length.
    const bool last = c + 1 == columns_.size() && columns_[c].align == Align::kLeft;
    for (const auto& row : rows_) width = last ? width : std::max(width, Width(row[c]));
    widths.push_back(width);
  }
  std::string out;
  const auto line = [&](const auto& cell_at) {
    for (size_t c = 0; c < columns_.size(); ++c) {
      out += (c == 0 ? "| " : " | ") + Padded(cell_at(c), widths[c], columns_[c].align);
    }
    out += " |\n";
  };
  line([&](size_t c) { return columns_[c].title; });
  line([&](size_t c) {
    return columns_[c].align == Align::kRight ? std::string(widths[c] - 1, '-') + ":"
                                              : std::string(widths[c], '-');
  });
  for (const auto& row : rows_) line([&](size_t c) { return row[c]; });
  return out;
}

}  // namespace roofmark::report
