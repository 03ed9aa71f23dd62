// SPDX-License-Identifier: Apache-2.0
// The search of one text for anything that a sealed bundle must not show. It knows nothing of how a
// bundle is made, so it also finds what was copied into one by hand.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pack_check.h"
#include "pipeline/pack_hidden_internal.h"
#include "pipeline/pack_numbers_internal.h"

namespace roofmark::pipeline {

// Names of this machine and of the person at it, as they would stand in a careless text.
struct Surroundings {
  std::vector<std::string> words;  // host and user names; whole words, as written
};
Surroundings LookAround();

struct Scanner {
  const Hidden& hidden;
  const Surroundings& surroundings;
  // Values that the public part holds (sizes, bounds): they are no leak wherever they stand.
  std::set<double> allowed;

  // One finding per kind and line at most. `path` is relative to the bundle.
  std::vector<Finding> ScanText(const std::string& path, std::string_view text) const;
  // The name itself.
  std::vector<Finding> ScanName(const std::string& path) const;
};

// The values of all numbers in a text, for Scanner::allowed.
std::set<double> NumbersIn(std::string_view text);

}  // namespace roofmark::pipeline
