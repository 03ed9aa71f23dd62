// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/hash.h"
#include "base/sqlite.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "base/text.h"

namespace roofmark {
namespace {

TEST(Files, NamesFileAndLineOfABadJsonLine) {
  const auto dir = TempDir::Make("roofmark-test");
  ASSERT_THAT(dir, IsOk());
  const fs::path path = dir->path() / "rows.jsonl";
  ASSERT_THAT(WriteFile(path, "{\"a\": 1}\n\n{oops\n"), IsOk());
  EXPECT_THAT(ReadJsonLines(path), HasError(ErrorKind::kInput, "rows.jsonl: line 3"));
  EXPECT_THAT(ReadFile(path, 4), HasError(ErrorKind::kInput, "larger than"));
  EXPECT_THAT(ReadFile(dir->path()), HasError(ErrorKind::kInput, "is a folder"));
  EXPECT_THAT(ReadFile(dir->path() / "none"), HasError(ErrorKind::kNotFound, "none"));
}

TEST(Command, ReportsOutputExitCodeAndSignals) {
  const auto result = RunCommand({"sh", "-c", "echo out; echo err >&2; exit 7"});
  ASSERT_THAT(result, IsOk());
  EXPECT_EQ(result->out, "out\n");
  EXPECT_EQ(result->err, "err\n");
  EXPECT_EQ(result->exit_code, 7);
  EXPECT_EQ(RunCommand({"sh", "-c", "kill -9 $$"})->exit_code, 137);
}

TEST(Command, KillsTheWholeGroupAtItsLimit) {
  EXPECT_THAT(RunCommand({"sh", "-c", "sleep 100 & sleep 100"}, {.timeout_s = 0.1}),
              HasError(ErrorKind::kTimeout, "did not finish"));
  EXPECT_THAT(RunCommand({"/does/not/exist"}), HasError(ErrorKind::kNotFound, "/does/not/exist"));
}

TEST(Hash, MatchesTheStandardsTestVector) {
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Text, WritesAmountsForAPerson) {
  EXPECT_EQ(HumanTime(850), "850 ns");
  EXPECT_EQ(HumanTime(12345), "12.3 us");
  EXPECT_EQ(HumanTime(2.5e9), "2.50 s");
  EXPECT_EQ(HumanBytes(1536), "1.5 KiB");
  EXPECT_THAT(ParseInt("12x"), HasError(ErrorKind::kInput, "'12x'"));
}

TEST(Database, RefusesAFileThatIsNotSqlite) {
  const auto dir = TempDir::Make("roofmark-test");
  ASSERT_THAT(WriteFile(dir->path() / "x.db", std::string(4096, 'x')), IsOk());
  const auto db = Database::Open(dir->path() / "x.db", OpenMode::kReadWrite);
  ASSERT_THAT(db, IsOk());
  EXPECT_THAT(db->Execute("SELECT * FROM sqlite_master"),
              HasError(ErrorKind::kInput, "not a database"));
}

TEST(Database, RollsBackWhatWasNotCommitted) {
  const auto db = Database::Open(":memory:", OpenMode::kReadWrite);
  ASSERT_THAT(db->Execute("CREATE TABLE t(x)"), IsOk());
  {
    auto transaction = Transaction::Begin(*db);
    ASSERT_THAT(db->Execute("INSERT INTO t VALUES (1)"), IsOk());
  }
  auto count = db->Prepare("SELECT count(*) FROM t");
  ASSERT_THAT(count->Step(), IsOk());
  EXPECT_EQ(count->Int(0), 0);
}

}  // namespace
}  // namespace roofmark
