// SPDX-License-Identifier: Apache-2.0
#include "worker/own_files.h"

#include <unistd.h>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::worker {
namespace {

TEST(FileIdentity, IsDeviceAndInodeOfALineOfAMap) {
  const auto of = [](std::string_view line) { return IdentityIn(ParseMapsLine(line).value()); };
  EXPECT_EQ(of("7f12-7f34 r-xp 00000000 08:01 123   /candidate/candidate.so"), "08:01 123");
  EXPECT_EQ(of("7f12-7f34 r-xp 00000000 00:00 0 "), "");
  EXPECT_FALSE(ParseMapsLine("7f12-7f34 r-xp"));
  EXPECT_FALSE(ParseMapsLine(""));
}

TEST(OwnFile, IsTheSameForTwoNamesOfOneFileAndAnotherForACopy) {
  const TempDir folder = std::move(TempDir::Make("own-file")).value();
  const fs::path file = folder.path() / "candidate.so";
  ASSERT_THAT(WriteFile(file, "code"), IsOk());
  fs::create_hard_link(file, folder.path() / "other.so");
  ASSERT_THAT(WriteFile(folder.path() / "copy.so", "code"), IsOk());
  const pid_t self = ::getpid();
  const FileIdentity own = IdentityOf(self, file.string());
  EXPECT_NE(own, "");
  EXPECT_EQ(IdentityOf(self, (folder.path() / "other.so").string()), own);
  EXPECT_NE(IdentityOf(self, (folder.path() / "copy.so").string()), own);
  EXPECT_EQ(IdentityOf(self, (folder.path() / "absent.so").string()), "");
}

}  // namespace
}  // namespace roofmark::worker
