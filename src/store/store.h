// SPDX-License-Identifier: Apache-2.0
// Everything that was judged, in one SQLite file (WAL mode, so that a reader never waits for a
// writer), with large bytes content-addressed in a folder beside it. A file that is no store, is
// corrupt, or was made by a newer Roofmark is refused and left as it is; nothing is ever reset.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/sqlite.h"
#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::store {

// One invocation of a verb that added something.
struct RunInfo {
  int64_t id = 0;                     // given by AddRun
  std::string date;                   // ISO 8601, UTC; empty = now
  std::string command;                // the verb with its arguments
  std::string suite;                  // name of the suite
  std::string device;                 // what the driver calls it
  Json details = Json::MakeObject();  // driver, versions, level: whatever a report should state
};

// An empty string or an absent value means no restriction.
struct VerdictFilter {
  std::string operator_name;
  std::string shape;
  std::string candidate;
  std::string device;
  std::optional<Lane> lane;
  std::optional<int64_t> run;
  std::optional<Mode> mode;
};

enum class History {
  // For each candidate (name, lane, role and mode), operator and device, what its latest version
  // was
  // judged: the verdicts of the source hash that was judged last, the latest for each shape.
  // Verdicts of an older version never mix with those of a newer one.
  kLatest,
  kAll,  // in order of addition
};

struct StoredVerdict {
  int64_t id = 0;
  int64_t run = 0;
  Verdict verdict;  // with its raw samples
};

// What is kept by kind and name, each version once.
struct Document {
  std::string kind;  // "device", "suite", "aggregate"
  std::string name;
  std::string date;  // when this version was added
  Json content;
};

class Store {
 public:
  // kReadWrite makes a store where there is no file. Errors: kNotFound for a file that is not there
  // (kReadOnly); kInput for one that is not a store, is corrupt, or has a newer schema; kIo.
  static Result<Store> Open(const std::filesystem::path& path, OpenMode mode);

  const std::filesystem::path& path() const { return path_; }

  // Returns the run's id.
  Result<int64_t> AddRun(const RunInfo& run);
  Result<std::vector<RunInfo>> ReadRuns() const;

  // All of them or none. Errors: kNotFound where there is no such run.
  Result<void> AddVerdicts(int64_t run, std::span<const Verdict> verdicts);
  // In order of addition.
  Result<std::vector<StoredVerdict>> ReadVerdicts(const VerdictFilter& filter,
                                                  History history) const;
  // ReadVerdicts(filter, kLatest) without their ids.
  Result<std::vector<Verdict>> LatestVerdicts(const VerdictFilter& filter) const;

  // Adding the same content again changes nothing.
  Result<void> AddDocument(std::string_view kind, std::string_view name, const Json& content);
  // The latest version of each name, by name.
  Result<std::vector<Document>> ReadDocuments(std::string_view kind) const;

  // What the verdict of this id was made from, as Verdict::evidence was; null where it was kept
  // without. Errors: kInput where it, the verdict or its samples were altered since.
  Result<Json> ReadEvidence(int64_t verdict) const;

  // Keeps every file of a folder, without those whose names begin with a dot and __pycache__, and
  // returns the hash of their names and bytes. Errors: kIo, kInput for over 64 MiB.
  Result<std::string> ArchiveFolder(const std::filesystem::path& folder);
  // What ArchiveFolder would return for the folder as it is now.
  static Result<std::string> HashFolder(const std::filesystem::path& folder);
  // Writes an archived folder's files into `folder`. Errors: kInput where a file of the archive is
  // missing or was altered.
  Result<void> RestoreFolder(std::string_view hash, const std::filesystem::path& folder) const;

  // Copies a candidate's sources, and the files below its include paths inside its folder, to the
  // archive; the key is its content_hash. Errors: kIo, kInput for over 64 MiB.
  Result<void> ArchiveCandidate(const Candidate& candidate);
  // Writes an archived candidate's files into `folder`, checks their hashes and returns the
  // candidate there. Errors: kNotFound, kInput where the archive was altered.
  Result<Candidate> RestoreCandidate(std::string_view content_hash,
                                     const std::filesystem::path& folder) const;

 private:
  Store(std::filesystem::path path, Database db) : path_(std::move(path)), db_(std::move(db)) {}
  std::filesystem::path ObjectPath(std::string_view sha256) const;
  // Keeps the bytes by their hash, and heals an object whose bytes are no longer its own.
  Result<std::string> KeepObject(std::string_view bytes);
  // `what` is the file as a person knows it. Errors: kInput where it is missing or altered.
  Result<std::string> ReadObject(std::string_view sha256, const std::string& what) const;

  std::filesystem::path path_;
  Database db_;
};

}  // namespace roofmark::store
