// SPDX-License-Identifier: Apache-2.0
// Keeps what a run of `judge` finds: each verdict goes to the store as soon as it is known, so that
// a killed run loses nothing that was measured.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/verdict.h"
#include "pipeline/evaluate.h"
#include "store/store.h"

namespace roofmark::pipeline {

class Recorder {
 public:
  // Opens (or makes) the store and archives the candidates' sources and the device's card. The run
  // begins with its first verdict. `command` is how a person would repeat it.
  static Result<Recorder> Open(const std::filesystem::path& path, const Machine& machine,
                               const std::vector<Entry>& entries, const std::string& command,
                               const std::string& suite_name);

  // From here verdicts are made under these options; each set of options is a run of its own.
  Result<void> Use(const Json& options);
  // Keeps the sources of a candidate that Open was not told of.
  Result<void> Archive(const Candidate& candidate) { return store_.ArchiveCandidate(candidate); }
  // True where the store has a verdict on the same content, shape, machine, suite and options.
  // Requires: Use was called.
  bool Knows(const Candidate& candidate, const Workload& workload) const;

  Result<void> Add(const Verdict& verdict);
  size_t count() const { return count_; }
  // The id of the machine, as the run keeps it (identity.h).
  const std::string& machine_id() const { return machine_id_; }

 private:
  Recorder(store::Store store, store::RunInfo info, std::string machine_id)
      : store_(std::move(store)), info_(std::move(info)), machine_id_(std::move(machine_id)) {}
  Result<std::set<std::string>> KnownUnder(const Json& details) const;
  // That of the options in use, added to the store where it is new.
  Result<int64_t> RunId();

  struct Run {
    std::set<std::string> known;  // what the store had before, by content and shape
    Json details;                 // with its options; null where Use was not called
    int64_t id = 0;               // 0 = not in the store yet
  };

  store::Store store_;
  store::RunInfo info_;
  std::string machine_id_;
  std::string options_;              // in use; empty where Use was not called
  std::map<std::string, Run> runs_;  // by options
  size_t count_ = 0;
  std::map<std::string, std::string> operator_files_;  // archived under which hash, by folder
};

}  // namespace roofmark::pipeline
