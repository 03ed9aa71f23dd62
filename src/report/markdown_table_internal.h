// SPDX-License-Identifier: Apache-2.0
// Tables that read well in a terminal and render on a code host, from text that is not trusted.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofmark::report {

// One line of plain text in which nothing is markup: line breaks and control characters become
// spaces, invalid UTF-8 is replaced, and what Markdown or HTML would act on is escaped.
std::string EscapeMarkdown(std::string_view text);

enum class Align { kLeft, kRight };

class MarkdownTable {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };
  explicit MarkdownTable(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // Cells are escaped here. Requires: one per column.
  void Add(const std::vector<std::string>& cells);
  // Padded so that columns line up; the empty text when there are no rows.
  std::string Print() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace roofmark::report
