// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"
#include "store/store.h"

namespace roofmark::store {
namespace {

class EvidenceInStore : public testing::Test {
 protected:
  fs::path Path() const { return dir_->path() / "s.db"; }

  // Adds one verdict and returns its id.
  int64_t Add(Store* store, const Json& evidence) {
    Verdict verdict{.operator_name = "op", .shape = "s", .candidate = "x"};
    verdict.samples_ns = {1, 2.5};
    verdict.evidence = evidence;
    EXPECT_THAT(store->AddVerdicts(*store->AddRun({}), {{verdict}}), IsOk());
    return store->ReadVerdicts({}, History::kAll)->back().id;
  }

  void Write(const std::string& name, const std::string& text) {
    ASSERT_THAT(WriteFile(dir_->path() / name, text), IsOk());
  }

  Result<TempDir> dir_ = TempDir::Make("roofmark-evidence");
};

TEST_F(EvidenceInStore, ComesBackAndIsNullWhereThereIsNone) {
  auto store = Store::Open(Path(), OpenMode::kReadWrite);
  ASSERT_THAT(store, IsOk());
  const Json evidence = Json::MakeObject().Set("secret", "abc").Set("x", 0.1);
  const int64_t with = Add(&*store, evidence);
  const int64_t without = Add(&*store, Json());
  EXPECT_EQ(*store->ReadEvidence(with), evidence);
  EXPECT_TRUE(store->ReadEvidence(without)->is_null());
}

TEST_F(EvidenceInStore, NoticesThatSamplesOrTheVerdictWereEdited) {
  for (const char* edit :
       {"UPDATE samples SET samples_ns = '[1,2.4]'",
        "UPDATE verdicts SET json = replace(json, 'not_run', 'passed')",
        "UPDATE evidence SET json = replace(json, 'abc', 'abd')", "DELETE FROM samples"}) {
    fs::remove(Path());
    auto store = Store::Open(Path(), OpenMode::kReadWrite);
    ASSERT_THAT(store, IsOk());
    const int64_t id = Add(&*store, Json::MakeObject().Set("secret", "abc"));
    EXPECT_THAT(store->ReadEvidence(id), IsOk());
    ASSERT_THAT(Database::Open(Path(), OpenMode::kReadWrite)->Execute(edit), IsOk());
    EXPECT_THAT(store->ReadEvidence(id), HasError(ErrorKind::kInput, "were altered")) << edit;
  }
}

TEST_F(EvidenceInStore, AStoreFromBeforeThereWasEvidenceHasNone) {
  int64_t id = 0;
  {
    auto store = Store::Open(Path(), OpenMode::kReadWrite);
    id = Add(&*store, Json());
    ASSERT_THAT(Database::Open(Path(), OpenMode::kReadWrite)->Execute("DROP TABLE evidence"),
                IsOk());
  }
  EXPECT_TRUE(Store::Open(Path(), OpenMode::kReadOnly)->ReadEvidence(id)->is_null());
  // Opened for writing it can keep some from now on.
  auto store = Store::Open(Path(), OpenMode::kReadWrite);
  const Json evidence = Json::MakeObject().Set("secret", "abc");
  EXPECT_EQ(*store->ReadEvidence(Add(&*store, evidence)), evidence);
}

TEST_F(EvidenceInStore, KeepsAFolderAndNoticesAlteredAndMissingFiles) {
  Write("op/reference.py", "def reference(): pass");
  Write("op/deep/shapes.jsonl", "{}");
  Write("op/__pycache__/x.pyc", "bytes");
  auto store = Store::Open(Path(), OpenMode::kReadWrite);
  ASSERT_THAT(store, IsOk());
  const Result<std::string> hash = store->ArchiveFolder(dir_->path() / "op");
  ASSERT_THAT(hash, IsOk());
  EXPECT_EQ(*hash, *Store::HashFolder(dir_->path() / "op"));
  const fs::path out = dir_->path() / "out";
  ASSERT_THAT(store->RestoreFolder(*hash, out), IsOk());
  EXPECT_EQ(*ReadFile(out / "deep/shapes.jsonl"), "{}");
  EXPECT_FALSE(fs::exists(out / "__pycache__"));

  Write("op/reference.py", "def reference(): return 1");
  EXPECT_NE(*hash, *Store::HashFolder(dir_->path() / "op"));
  const std::string object = Sha256Hex("def reference(): pass");
  const std::string path = "s.db.objects/" + object.substr(0, 2) + "/" + object;
  Write(path, "def reference(): pasS");
  EXPECT_THAT(store->RestoreFolder(*hash, out),
              HasError(ErrorKind::kInput, "out/reference.py was altered"));
  fs::remove(dir_->path() / path);
  EXPECT_THAT(store->RestoreFolder(*hash, out),
              HasError(ErrorKind::kInput, "out/reference.py is missing"));
  // The same files once more heal it.
  Write("op/reference.py", "def reference(): pass");
  Write(path, "torn");
  ASSERT_THAT(store->ArchiveFolder(dir_->path() / "op"), IsOk());
  EXPECT_THAT(store->RestoreFolder(*hash, out), IsOk());
}

}  // namespace
}  // namespace roofmark::store
