// SPDX-License-Identifier: Apache-2.0
// A sandbox's level, part by part: what each wall keeps out, and, where it is missing on a machine,
// what that means for verdicts and how to get it.
#pragma once

#include <string>
#include <vector>

namespace roofmark::worker {

struct LevelPart {
  std::string name;  // "namespaces", "seccomp", "Landlock", "cgroup"
  bool present = false;
  std::string means;
};

// Of Worker::level(). Always the same parts in the same order.
std::vector<LevelPart> ExplainLevel(const std::string& level);

}  // namespace roofmark::worker
