// SPDX-License-Identifier: Apache-2.0
#include "worker/folder_watch.h"

#include <string>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::worker {
namespace {

constexpr uint64_t kMib = uint64_t{1} << 20;

// Another program may free as much meanwhile, so a small limit is asked for.
TEST(FolderWatch, SeesWhatIsWrittenSinceInFoldersBelowToo) {
  const TempDir folder = TempDir::Make("roofmark-watch").value();
  FolderWatch watch(folder.path(), kMib);
  EXPECT_FALSE(watch.IsOver());
  ASSERT_THAT(WriteFile(folder.path() / "a/b", std::string(64 * kMib, 'x')), IsOk());
  EXPECT_GE(BytesBelow(folder.path()), 64 * kMib);
  EXPECT_TRUE(watch.IsOver());
}

TEST(FolderWatch, AFolderThatIsNotThereHoldsNothing) {
  FolderWatch watch("/nowhere", 0);
  EXPECT_FALSE(watch.IsOver());
}

}  // namespace
}  // namespace roofmark::worker
