// SPDX-License-Identifier: Apache-2.0
#include "worker/own_files.h"

#include <unistd.h>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::worker {
namespace {

TEST(FileIdentity, IsDeviceAndInodeOfALineOfAMap) {
  EXPECT_EQ(IdentityIn("7f12-7f34 r-xp 00000000 08:01 123   /candidate/candidate.so"), "08:01 123");
  EXPECT_EQ(IdentityIn("7f12-7f34 r-xp 00000000 00:00 0 "), "");
  EXPECT_EQ(IdentityIn("7f12-7f34 r-xp"), "");
  EXPECT_EQ(IdentityIn(""), "");
}

TEST(OwnFile, IsTheSameForTwoNamesOfOneFileAndAnotherForACopy) {
  const TempDir folder = std::move(TempDir::Make("own-file")).value();
  const fs::path file = folder.path() / "candidate.so";
  ASSERT_THAT(WriteFile(file, "code"), IsOk());
  fs::create_hard_link(file, folder.path() / "other.so");
  ASSERT_THAT(WriteFile(folder.path() / "copy.so", "code"), IsOk());
  const pid_t self = ::getpid();
  const FileIdentity own = OwnFileOf(self, file.string());
  EXPECT_NE(own, "");
  EXPECT_EQ(OwnFileOf(self, (folder.path() / "other.so").string()), own);
  EXPECT_NE(OwnFileOf(self, (folder.path() / "copy.so").string()), own);
  EXPECT_EQ(OwnFileOf(self, (folder.path() / "absent.so").string()), "");
}

TEST(OwnFile, IsTheOneThatTheWorkerWasToldToLoadAsLongAsThatIsKnown) {
  const TempDir folder = std::move(TempDir::Make("own-file")).value();
  const std::string told = (folder.path() / "told.so").string();
  const std::string other = (folder.path() / "other.so").string();
  ASSERT_THAT(WriteFile(told, "code"), IsOk());
  ASSERT_THAT(WriteFile(other, "code"), IsOk());
  const pid_t self = ::getpid();
  const FileIdentity of_told = OwnFileOf(self, told);
  NoteOwnFile(self, told);
  EXPECT_EQ(OwnFileOf(self, other), of_told);
  ForgetOwnFile(self);
  EXPECT_NE(OwnFileOf(self, other), of_told);
}

}  // namespace
}  // namespace roofmark::worker
