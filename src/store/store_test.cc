// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <thread>

#include "base/files.h"
#include "base/hash.h"
#include "base/testing.h"

namespace roofmark::store {
namespace {

class StoreFile : public testing::Test {
 protected:
  fs::path Path() const { return dir_->path() / "s.db"; }
  Result<Store> Open(OpenMode mode = OpenMode::kReadWrite) { return Store::Open(Path(), mode); }
  Result<Database> Raw() { return Database::Open(Path(), OpenMode::kReadWrite); }

  static Verdict Make(const char* candidate, const char* hash, const char* shape, double time_ns) {
    Verdict verdict{.operator_name = "rms_norm",
                    .shape = shape,
                    .candidate = candidate,
                    .candidate_hash = hash,
                    .device = "cpu"};
    verdict.gate = Gate::kPerformance;
    verdict.outcome = Outcome::kPassed;
    verdict.time_ns = Interval{.median = time_ns, .low = time_ns, .high = time_ns};
    verdict.samples_ns = {time_ns, time_ns + 0.25};
    return verdict;
  }

  Result<TempDir> dir_ = TempDir::Make("roofmark-store");
};

TEST_F(StoreFile, KeepsRunsAndVerdictsWithTheirSamples) {
  auto store = Open();
  ASSERT_THAT(store, IsOk());
  const auto run = store->AddRun({.command = "judge x.cc", .suite = "published", .device = "cpu"});
  ASSERT_THAT(run, IsOk());
  const Verdict verdict = Make("x", "h1", "0", 100);
  ASSERT_THAT(store->AddVerdicts(*run, {{verdict}}), IsOk());
  const auto reopened = Open(OpenMode::kReadOnly);
  ASSERT_THAT(reopened, IsOk());
  const auto back = reopened->ReadVerdicts({}, History::kAll);
  ASSERT_THAT(back, IsOk());
  ASSERT_EQ(back->size(), 1u);
  EXPECT_EQ((*back)[0].run, *run);
  EXPECT_EQ(VerdictToJson((*back)[0].verdict, Samples::kInclude),
            VerdictToJson(verdict, Samples::kInclude));
  EXPECT_EQ(reopened->ReadRuns()->at(0).command, "judge x.cc");
  EXPECT_EQ(reopened->ReadRuns()->at(0).date.size(), 20u);
}

TEST_F(StoreFile, GivesTheLatestVersionsVerdictsAndNeverMixesVersions) {
  auto store = Open();
  const int64_t run = *store->AddRun({});
  ASSERT_THAT(store->AddVerdicts(run, {{Make("x", "old", "0", 1), Make("x", "old", "1", 2),
                                        Make("x", "new", "0", 3), Make("x", "new", "0", 4),
                                        Make("y", "only", "1", 5)}}),
              IsOk());
  const auto latest = store->ReadVerdicts({}, History::kLatest);
  ASSERT_THAT(latest, IsOk());
  ASSERT_EQ(latest->size(), 2u);
  EXPECT_EQ((*latest)[0].verdict.time_ns->median, 4);
  EXPECT_EQ((*latest)[1].verdict.candidate, "y");
  EXPECT_EQ(store->LatestVerdicts({.candidate = "y"})->at(0).time_ns->median, 5);
  EXPECT_EQ(store->ReadVerdicts({}, History::kAll)->size(), 5u);
}

TEST_F(StoreFile, FiltersByEachColumn) {
  auto store = Open();
  const int64_t first = *store->AddRun({});
  const int64_t second = *store->AddRun({});
  Verdict cuda = Make("z", "h", "0", 7);
  cuda.lane = Lane::kCuda;
  cuda.device = "H200";
  ASSERT_THAT(store->AddVerdicts(first, {{Make("x", "h", "0", 1), Make("x", "h", "1", 2)}}),
              IsOk());
  ASSERT_THAT(store->AddVerdicts(second, {{cuda}}), IsOk());
  const auto count = [&](const VerdictFilter& filter) {
    return store->ReadVerdicts(filter, History::kAll)->size();
  };
  EXPECT_EQ(count({.operator_name = "rms_norm"}), 3u);
  EXPECT_EQ(count({.operator_name = "other"}), 0u);
  EXPECT_EQ(count({.shape = "0"}), 2u);
  EXPECT_EQ(count({.candidate = "x", .device = "cpu"}), 2u);
  EXPECT_EQ(count({.lane = Lane::kCuda}), 1u);
  EXPECT_EQ(count({.run = second}), 1u);
}

TEST_F(StoreFile, AddsAllVerdictsOrNone) {
  auto store = Open();
  EXPECT_THAT(store->AddVerdicts(99, {{Make("x", "h", "0", 1)}}),
              HasError(ErrorKind::kNotFound, "has no run 99"));
  EXPECT_EQ(store->ReadVerdicts({}, History::kAll)->size(), 0u);
}

TEST_F(StoreFile, KeepsDocumentsByNameOncePerVersion) {
  auto store = Open();
  const Json one = Json::MakeObject().Set("v", 1);
  const Json two = Json::MakeObject().Set("v", 2);
  for (const Json& content : {one, one, two}) {
    ASSERT_THAT(store->AddDocument("device", "H200", content), IsOk());
  }
  ASSERT_THAT(store->AddDocument("suite", "H200", one), IsOk());
  const auto devices = store->ReadDocuments("device");
  ASSERT_THAT(devices, IsOk());
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ((*devices)[0].content, two);
}

TEST_F(StoreFile, IsNotMadeByAReader) {
  EXPECT_THAT(Open(OpenMode::kReadOnly), HasError(ErrorKind::kNotFound, "`roofmark judge --store"));
  EXPECT_FALSE(fs::exists(Path()));
  ASSERT_THAT(WriteFile(Path(), ""), IsOk());
  EXPECT_THAT(Open(OpenMode::kReadOnly), HasError(ErrorKind::kInput, "another program"));
}

TEST_F(StoreFile, CanBeReadWhileItIsWritten) {
  auto writer = Open();
  const int64_t run = *writer->AddRun({});
  const auto reader = Open(OpenMode::kReadOnly);
  ASSERT_THAT(reader, IsOk());
  ASSERT_THAT(writer->AddVerdicts(run, {{Make("x", "h", "0", 1)}}), IsOk());
  EXPECT_EQ(reader->LatestVerdicts({})->size(), 1u);
}

TEST_F(StoreFile, RefusesWhatIsNoStoreAndLeavesItAlone) {
  const std::string text = "my thesis, " + std::string(8192, 'x');
  ASSERT_THAT(WriteFile(Path(), text), IsOk());
  EXPECT_THAT(Open(), HasError(ErrorKind::kInput, "Nothing in it was changed"));
  EXPECT_EQ(*ReadFile(Path()), text);
}

TEST_F(StoreFile, RefusesADatabaseOfAnotherProgram) {
  ASSERT_THAT(Raw()->Execute("CREATE TABLE photos(x)"), IsOk());
  EXPECT_THAT(Open(), HasError(ErrorKind::kInput, "database of another program"));
  auto count = Raw()->Prepare("SELECT count(*) FROM sqlite_master");
  ASSERT_THAT(count->Step(), IsOk());
  EXPECT_EQ(count->Int(0), 1);
}

TEST_F(StoreFile, RefusesANewerSchema) {
  ASSERT_THAT(Open(), IsOk());
  ASSERT_THAT(Raw()->Execute("PRAGMA user_version = 3"), IsOk());
  EXPECT_THAT(Open(), HasError(ErrorKind::kInput, "schema version 3 and this Roofmark knows 2"));
}

TEST_F(StoreFile, OpensAStoreOfVersionOneWhoseVerdictsHaveNoMode) {
  {
    auto store = Open();
    const int64_t run = *store->AddRun({});
    ASSERT_THAT(store->AddVerdicts(run, {{Make("x", "h", "0", 1)}}), IsOk());
  }
  ASSERT_THAT(Raw()->Execute("UPDATE verdicts SET json = json_remove(json, '$.mode'); "
                             "PRAGMA user_version = 1"),
              IsOk());
  const auto reader = Store::Open(Path(), OpenMode::kReadOnly);
  ASSERT_THAT(reader, IsOk());
  EXPECT_EQ(reader->LatestVerdicts({.mode = Mode::kEager})->size(), 1U);
  EXPECT_EQ(reader->LatestVerdicts({.mode = Mode::kGraph})->size(), 0U);
  const auto writer = Open();
  ASSERT_THAT(writer, IsOk());
  EXPECT_EQ(writer->LatestVerdicts({.mode = Mode::kEager})->size(), 1U);
  auto version = Raw()->Prepare("PRAGMA user_version");
  ASSERT_THAT(version->Step(), IsOk());
  EXPECT_EQ(version->Int(0), 2);
}

TEST_F(StoreFile, KeepsTheLatestOfEachModeApart) {
  auto store = Open();
  const int64_t run = *store->AddRun({});
  Verdict graph = Make("x", "h", "0", 2);
  graph.mode = Mode::kGraph;
  ASSERT_THAT(store->AddVerdicts(run, {{Make("x", "h", "0", 1), graph}}), IsOk());
  EXPECT_EQ(store->LatestVerdicts({})->size(), 2U);
  const auto eager = store->LatestVerdicts({.mode = Mode::kEager});
  ASSERT_EQ(eager->size(), 1U);
  EXPECT_EQ(eager->front().time_ns->median, 1);
}

TEST_F(StoreFile, RefusesACorruptStore) {
  {
    auto store = Open();
    const int64_t run = *store->AddRun({});
    const std::vector<Verdict> many(200, Make("x", "h", "0", 1));
    ASSERT_THAT(store->AddVerdicts(run, many), IsOk());
  }
  ASSERT_THAT(Raw()->Execute("PRAGMA wal_checkpoint(TRUNCATE)"), IsOk());
  std::string bytes = *ReadFile(Path());
  ASSERT_GT(bytes.size(), size_t{40000});
  for (size_t i = 12000; i < 32000; ++i) bytes[i] = '\x5a';
  fs::remove(Path().string() + "-wal");
  ASSERT_THAT(WriteFile(Path(), bytes), IsOk());
  EXPECT_THAT(Open(), HasError(ErrorKind::kInput, "cannot be used as a store"));
  EXPECT_EQ(*ReadFile(Path()), bytes);
}

TEST_F(StoreFile, CanBeMadeAndWrittenByManyAtOnce) {
  std::vector<std::string> errors(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < errors.size(); ++i) {
      threads.emplace_back([this, i, &errors] {
        auto store = Open();
        if (!store) {
          errors[i] = store.error().message();
          return;
        }
        const auto run = store->AddRun({});
        const auto added = run ? store->AddVerdicts(*run, {{Make("x", "h", "0", 1)}})
                               : Result<void>(std::unexpected(run.error()));
        if (!added) errors[i] = added.error().message();
      });
    }
  }
  EXPECT_THAT(errors, testing::Each(""));
  EXPECT_EQ(Open()->ReadVerdicts({}, History::kAll)->size(), 8u);
}

class Archive : public StoreFile {
 protected:
  Archive() {
    candidate_.folder = dir_->path() / "candidate";
    candidate_.name = "x";
    candidate_.lane = Lane::kCuda;
    candidate_.sources = {"x.cu"};
    candidate_.options = {"-O3"};
    candidate_.include_paths = {"include", "/usr/include"};
    candidate_.content_hash = "abc";
    EXPECT_THAT(WriteFile(candidate_.folder / "x.cu", "kernel"), IsOk());
    EXPECT_THAT(WriteFile(candidate_.folder / "include" / "deep" / "h.h", "header"), IsOk());
    EXPECT_THAT(WriteFile(candidate_.folder / "notes.txt", "private"), IsOk());
  }
  Candidate candidate_;
};

TEST_F(Archive, GivesACandidateBackWithoutItsFolder) {
  auto store = Open();
  ASSERT_THAT(store->ArchiveCandidate(candidate_), IsOk());
  fs::remove_all(candidate_.folder);
  const fs::path out = dir_->path() / "out";
  const auto back = store->RestoreCandidate("abc", out);
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(back->name, "x");
  EXPECT_EQ(back->lane, Lane::kCuda);
  EXPECT_EQ(back->options, candidate_.options);
  EXPECT_EQ(back->include_paths, candidate_.include_paths);
  EXPECT_EQ(*ReadFile(out / "x.cu"), "kernel");
  EXPECT_EQ(*ReadFile(out / "include" / "deep" / "h.h"), "header");
  EXPECT_FALSE(fs::exists(out / "notes.txt"));
}

TEST_F(Archive, NoticesAlteredBytes) {
  auto store = Open();
  ASSERT_THAT(store->ArchiveCandidate(candidate_), IsOk());
  const std::string hash = Sha256Hex("kernel");
  ASSERT_THAT(WriteFile(Path().string() + ".objects/" + hash.substr(0, 2) + "/" + hash, "kernal"),
              IsOk());
  EXPECT_THAT(store->RestoreCandidate("abc", dir_->path() / "out"),
              HasError(ErrorKind::kInput, "x.cu of candidate x was altered"));
  EXPECT_THAT(store->RestoreCandidate("def", dir_->path() / "out"),
              HasError(ErrorKind::kNotFound, "def"));
}

}  // namespace
}  // namespace roofmark::store
