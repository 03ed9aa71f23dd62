// SPDX-License-Identifier: Apache-2.0
#include "agent/journal.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::agent {
namespace {

class JournalFile : public testing::Test {
 protected:
  Json Event(const char* name) { return Json::MakeObject().Set("event", name); }
  // A journal of two events.
  void WriteTwo() {
    auto journal = Journal::Open(file_);
    ASSERT_THAT(journal, IsOk());
    ASSERT_THAT(journal->Append(Event("one")), IsOk());
    ASSERT_THAT(journal->Append(Event("two")), IsOk());
  }
  TempDir dir_ = *TempDir::Make("roofmark-journal");
  fs::path file_ = dir_.path() / "campaign" / "journal.jsonl";
};

TEST_F(JournalFile, GivesItsEventsBackInOrder) {
  WriteTwo();
  const auto journal = Journal::Open(file_);
  ASSERT_THAT(journal, IsOk());
  ASSERT_EQ(journal->events().size(), 2u);
  EXPECT_EQ(*journal->events()[1].String("event"), "two");
  EXPECT_EQ(*journal->events()[1].Int("seq"), 1);
}

TEST_F(JournalFile, CutsALastLineThatAKillLeftUnfinished) {
  WriteTwo();
  const std::string whole = *ReadFile(file_);
  for (size_t length = 0; length <= whole.size(); ++length) {
    ASSERT_THAT(WriteFile(file_, whole.substr(0, length)), IsOk());
    auto journal = Journal::Open(file_);
    ASSERT_THAT(journal, IsOk()) << length;
    ASSERT_THAT(journal->Append(Event("next")), IsOk());
    const size_t expected = journal->events().size();
    journal = Fail(ErrorKind::kIo, "closed");
    const auto again = Journal::Open(file_);
    ASSERT_THAT(again, IsOk()) << length;
    EXPECT_EQ(again->events().size(), expected);
  }
}

TEST_F(JournalFile, RefusesLinesThatWereChangedDroppedOrAdded) {
  WriteTwo();
  const std::string whole = *ReadFile(file_);
  std::string changed = whole;
  changed.replace(changed.find("one"), 3, "eno");
  ASSERT_THAT(WriteFile(file_, changed), IsOk());
  EXPECT_THAT(Journal::Open(file_), HasError(ErrorKind::kInput, "line 2: does not follow"));
  EXPECT_EQ(*ReadFile(file_), changed);
  ASSERT_THAT(WriteFile(file_, whole.substr(whole.find('\n') + 1)), IsOk());
  EXPECT_THAT(Journal::Open(file_), HasError(ErrorKind::kInput, "line 1: does not follow"));
  ASSERT_THAT(WriteFile(file_, whole + "rubbish\n"), IsOk());
  EXPECT_THAT(Journal::Open(file_), HasError(ErrorKind::kInput, "line 3"));
}

TEST_F(JournalFile, BelongsToOneProcessAtATime) {
  WriteTwo();
  const auto first = Journal::Open(file_);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(Journal::Open(file_), HasError(ErrorKind::kInput, "another process"));
}

}  // namespace
}  // namespace roofmark::agent
