// SPDX-License-Identifier: Apache-2.0
// The search of one text for anything that a sealed bundle must not show. It knows nothing of how a
// bundle is made, so it also finds what was copied into one by hand.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "pipeline/pack.h"
#include "pipeline/pack_check.h"
#include "pipeline/pack_hidden_internal.h"
#include "pipeline/pack_numbers_internal.h"

namespace roofmark::pipeline {

// Names of this machine and of the person at it, as they would stand in a careless text.
struct Surroundings {
  std::vector<std::string> words;  // host and user names; whole words, as written
  // Values of environment variables that are secrets by their name or folders of this machine, with
  // the variable's name in front.
  std::vector<std::pair<std::string, std::string>> values;
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

// All files by path, names and texts. Numbers of the contract and of the shapes in `made` (what the
// public part should be) are no leak.
std::vector<Finding> ScanForHidden(const std::map<std::string, std::string>& files,
                                   const Hidden& hidden, const std::vector<BundleFile>& made);

// The values of all numbers in a text, for Scanner::allowed.
std::set<double> NumbersIn(std::string_view text);

}  // namespace roofmark::pipeline
