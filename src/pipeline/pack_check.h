// SPDX-License-Identifier: Apache-2.0
// The proof that a sealed bundle holds nothing hidden. It rests on two independent arguments: each
// file is what `pack` makes from the public part (made again here and compared), and a search of
// every name and line for hidden names, figures, sources, times and places. The second also covers
// what an operator's author may have written into the reference itself.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace roofmark::pipeline {

struct Finding {
  std::string file;  // relative to the bundle
  size_t line = 0;   // 0 = the file as a whole
  std::string what;

  bool operator==(const Finding&) const = default;
};
// "reference.py:12: states a time: '1.93 us'".
std::string FindingText(const Finding& finding);

// Where the operators and device cards are against which a bundle is checked.
struct CheckAgainst {
  std::filesystem::path data;  // DataDir(); holds operators/ and devices/
  // The operator that the bundle is of, where its name is an alias; empty = by the name.
  std::filesystem::path operator_folder;
};

// All findings, by file and line; empty = sealed. A bundle that cannot be checked at all (no
// manifest, an operator that is unknown here) has a finding that says so. Symbolic links are never
// followed. Errors: kNotFound and kIo for `folder` itself and for the data.
Result<std::vector<Finding>> CheckBundle(const std::filesystem::path& folder,
                                         const CheckAgainst& against);

}  // namespace roofmark::pipeline
