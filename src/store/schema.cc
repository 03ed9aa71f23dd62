// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <thread>

#include "store/schema_internal.h"

namespace roofmark::store {
namespace {

// Verdicts are whole as JSON, so that no field is lost, with the columns that queries filter by
// beside it. Raw samples lie apart: a list of verdicts does not read them.
constexpr const char* kTables = R"sql(
CREATE TABLE runs(
  id INTEGER PRIMARY KEY, date TEXT NOT NULL, command TEXT NOT NULL, suite TEXT NOT NULL,
  device TEXT NOT NULL, details TEXT NOT NULL);
CREATE TABLE verdicts(
  id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs(id), operator TEXT NOT NULL,
  shape TEXT NOT NULL, phase TEXT NOT NULL, candidate TEXT NOT NULL, candidate_hash TEXT NOT NULL,
  lane TEXT NOT NULL, role TEXT NOT NULL, device TEXT NOT NULL, gate TEXT NOT NULL,
  outcome TEXT NOT NULL, time_ns REAL, attainment REAL, json TEXT NOT NULL);
CREATE INDEX verdicts_by_workload ON verdicts(operator, shape, candidate, device);
CREATE INDEX verdicts_by_run ON verdicts(run);
CREATE TABLE samples(
  verdict INTEGER PRIMARY KEY REFERENCES verdicts(id), samples_ns TEXT NOT NULL);
CREATE TABLE documents(
  id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL,
  date TEXT NOT NULL, json TEXT NOT NULL, UNIQUE(kind, name, sha256));
CREATE TABLE candidates(
  hash TEXT PRIMARY KEY, name TEXT NOT NULL, date TEXT NOT NULL, json TEXT NOT NULL);
)sql";

// What a verdict was made from, beside it, with the hash of all three; stores that were made before
// there was this table get it when they are opened for writing.
constexpr const char* kEvidenceTable = R"sql(
CREATE TABLE IF NOT EXISTS evidence(
  verdict INTEGER PRIMARY KEY REFERENCES verdicts(id), sha256 TEXT NOT NULL, json TEXT NOT NULL);
)sql";

Result<int64_t> Pragma(const Database& db, const std::string& name) {
  Statement statement = TRY(db.Prepare("PRAGMA " + name));
  const bool row = TRY(statement.Step());
  return row ? statement.Int(0) : 0;
}

Result<int64_t> CountTables(const Database& db) {
  Statement statement = TRY(db.Prepare("SELECT count(*) FROM sqlite_master"));
  TRY(statement.Step());
  return statement.Int(0);
}

Result<void> CheckIntegrity(const Database& db) {
  Statement statement = TRY(db.Prepare("PRAGMA quick_check(1)"));
  TRY(statement.Step());
  if (statement.Text(0) != "ok") {
    return Fail(ErrorKind::kInput, "the file is corrupt: " + statement.Text(0));
  }
  return {};
}

Result<void> Check(const Database& db) {
  if (TRY(Pragma(db, "application_id")) != kApplicationId) {
    return Fail(ErrorKind::kInput, "this is a database of another program");
  }
  const int64_t version = TRY(Pragma(db, "user_version"));
  if (version < kOldestSchema || version > kSchemaVersion) {
    return Fail(ErrorKind::kInput,
                fmt::format("it has schema version {} and this Roofmark knows {}; use the Roofmark "
                            "that made it",
                            version, kSchemaVersion));
  }
  return CheckIntegrity(db);
}

Result<void> CreateOrCheck(const Database& db) {
  Transaction transaction = TRY(Transaction::Begin(db));
  const bool untouched = TRY(Pragma(db, "application_id")) == 0 &&
                         TRY(Pragma(db, "user_version")) == 0 && TRY(CountTables(db)) == 0;
  if (untouched) {
    TRY(db.Execute(kTables));
    TRY(db.Execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}",
                               kApplicationId, kSchemaVersion)));
  } else {
    TRY(Check(db));
    TRY(db.Execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion)));
  }
  TRY(db.Execute(kEvidenceTable));
  return transaction.Commit();
}

// SQLite does not wait for a lock in this one case, so we do.
Result<void> UseWal(const Database& db) {
  Result<void> result = db.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  for (int attempt = 0; attempt < 100 && !result; ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    result = db.Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL");
  }
  return result;
}

}  // namespace

Result<void> PrepareSchema(const Database& db, const std::filesystem::path& path, OpenMode mode) {
  const auto prepare = [&]() -> Result<void> {
    if (mode == OpenMode::kReadOnly) return Check(db);
    TRY(CreateOrCheck(db));
    TRY(UseWal(db));
    return db.Execute("PRAGMA foreign_keys = ON");
  };
  Result<void> prepared = prepare();
  if (!prepared && prepared.error().kind() == ErrorKind::kInput) {
    return Fail(ErrorKind::kInput,
                fmt::format("{} cannot be used as a store: {}. Nothing in it was changed; move it "
                            "away or name another file",
                            path.string(), prepared.error().message()));
  }
  return prepared;
}

std::string Now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace roofmark::store
