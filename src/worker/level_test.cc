// SPDX-License-Identifier: Apache-2.0
#include "worker/level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace roofmark::worker {
namespace {

using testing::HasSubstr;

bool Present(const std::string& level, const std::string& name) {
  const std::vector<LevelPart> parts = ExplainLevel(level);
  const auto found = std::ranges::find(parts, name, &LevelPart::name);
  return found != parts.end() && found->present;
}

TEST(Level, OfAFullSandboxHasEveryWall) {
  const std::string level =
      "user, mount, pid, net, ipc and uts namespaces, seccomp, no new privileges, Landlock (files, "
      "TCP, signals), memory limit, cgroup (pids, memory)";
  for (const char* name : {"namespaces", "seccomp", "Landlock", "cgroup"}) {
    EXPECT_TRUE(Present(level, name)) << name;
  }
}

TEST(Level, SaysWhatAMissingWallMeansAndHowToGetIt) {
  const std::string level =
      "no namespaces: other processes, and files that anybody may read, are not hidden, seccomp, "
      "no new privileges, no Landlock, memory watched";
  for (const LevelPart& part : ExplainLevel(level)) {
    EXPECT_EQ(part.present, part.name == "seccomp") << part.name;
    if (!part.present) {
      EXPECT_THAT(part.means, HasSubstr("to get "));
    }
  }
}

TEST(Level, OfNoWorkerHasNoWallAtAll) {
  for (const LevelPart& part : ExplainLevel("")) EXPECT_FALSE(part.present) << part.name;
}

}  // namespace
}  // namespace roofmark::worker
