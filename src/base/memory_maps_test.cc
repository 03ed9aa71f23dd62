// SPDX-License-Identifier: Apache-2.0
#include "base/memory_maps.h"

#include "base/testing.h"

namespace roofmark {
namespace {

TEST(MappedRange, IsReadFromALineOfAMap) {
  const auto range =
      ParseMapsLine("7f12a000-7f34b000 r-xp 00001000 08:01 123    /usr/lib/a b.so (deleted)");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, 0x7f12a000U);
  EXPECT_EQ(range->end, 0x7f34b000U);
  EXPECT_EQ(range->permissions, "r-xp");
  EXPECT_EQ(range->device, "08:01");
  EXPECT_EQ(range->inode, "123");
  EXPECT_EQ(range->path, "/usr/lib/a b.so (deleted)");
}

TEST(MappedRange, HasNoPathWhereNothingIsNamed) {
  EXPECT_EQ(ParseMapsLine("00400000-00500000 rw-p 00000000 00:00 0 ")->path, "");
  EXPECT_EQ(ParseMapsLine("00400000-00500000 rw-p 00000000 00:00 0")->path, "");
  EXPECT_EQ(ParseMapsLine("00400000-00500000 rw-p 00000000 00:00 0   [heap]")->path, "[heap]");
}

TEST(MappedRange, IsNothingForOtherLines) {
  for (const char* line : {"", "   ", "7f12-7f34", "7f12-7f34 r-xp", "7f12-7f34 r-xp 0 08:01",
                           "7f12 r-xp 0 08:01 1 /a", "x-7f34 r-xp 0 08:01 1 /a",
                           "7f12-x r-xp 0 08:01 1 /a", "7f12-7f34 rx 0 08:01 1 /a"}) {
    EXPECT_FALSE(ParseMapsLine(line)) << line;
  }
}

}  // namespace
}  // namespace roofmark
