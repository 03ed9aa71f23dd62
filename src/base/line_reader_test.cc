// SPDX-License-Identifier: Apache-2.0
#include "base/line_reader.h"

#include <unistd.h>

#include <array>

#include "base/owned.h"
#include "base/testing.h"

namespace roofmark {
namespace {

class LineReaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
  }
  void Write(std::string_view text) {
    ASSERT_EQ(::write(write_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  Fd read_;
  Fd write_;
};

TEST_F(LineReaderTest, LinesComeInOrderAndTheLastNeedsNoEnd) {
  LineReader reader(read_.get(), 100);
  Write("a\nbc\nd");
  write_.reset();
  for (const char* want : {"a", "bc", "d"}) {
    const auto line = reader.Next(LineReader::Wait::kYes);
    ASSERT_THAT(line, IsOk());
    ASSERT_TRUE(line->has_value());
    EXPECT_EQ((*line)->text, want);
  }
  const auto end = reader.Next(LineReader::Wait::kYes);
  ASSERT_THAT(end, IsOk());
  EXPECT_FALSE(end->has_value());
  EXPECT_TRUE(reader.at_end());
}

TEST_F(LineReaderTest, WithoutWaitingHalfALineIsNone) {
  LineReader reader(read_.get(), 100);
  Write("half");
  const auto none = reader.Next(LineReader::Wait::kNo);
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
  EXPECT_FALSE(reader.at_end());
}

TEST_F(LineReaderTest, ALineThatIsTooLongIsCountedAndReadOver) {
  LineReader reader(read_.get(), 4);
  Write("123456789\nok\n");
  const auto longer = reader.Next(LineReader::Wait::kYes);
  ASSERT_THAT(longer, IsOk());
  EXPECT_TRUE((*longer)->too_long);
  const auto next = reader.Next(LineReader::Wait::kYes);
  ASSERT_THAT(next, IsOk());
  EXPECT_EQ((*next)->number, 2U);
  EXPECT_EQ((*next)->text, "ok");
}

}  // namespace
}  // namespace roofmark
