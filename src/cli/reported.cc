// SPDX-License-Identifier: Apache-2.0
#include "cli/reported.h"

#include <fmt/format.h>

#include <vector>

namespace roofmark::cli {

std::string ReportedLine(const suite::ReportedResult& result) {
  std::vector<std::string> figures;
  for (const auto& [name, value] : result.figures) {
    figures.push_back(fmt::format("{} {}", name, value));
  }
  return fmt::format("{}: {} ({})", result.contestant, fmt::join(figures, ", "), result.note);
}

}  // namespace roofmark::cli
