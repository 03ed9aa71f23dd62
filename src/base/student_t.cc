// SPDX-License-Identifier: Apache-2.0
#include "base/student_t.h"

#include <array>
#include <cmath>

namespace roofmark {

double StudentT95(double degrees_of_freedom) {
  static constexpr std::array<double, 31> kTable = {
      0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080,
      2.074, 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  const double whole = std::floor(degrees_of_freedom);
  // Joins the table's last, and is within 0.001 of the quantile from there on.
  if (whole + 1 >= kTable.size()) return 1.95996 + 2.4612 / degrees_of_freedom;
  const auto at = static_cast<size_t>(whole);
  const double part = (1 / whole - 1 / degrees_of_freedom) / (1 / whole - 1 / (whole + 1));
  return kTable[at] + part * (kTable[at + 1] - kTable[at]);
}

}  // namespace roofmark
