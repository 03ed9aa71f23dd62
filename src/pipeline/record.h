// SPDX-License-Identifier: Apache-2.0
// Keeps what a run of `judge` finds: each verdict goes to the store as soon as it is known, so that
// a killed run loses nothing that was measured.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/verdict.h"
#include "pipeline/evaluate.h"
#include "store/store.h"

namespace roofmark::pipeline {

class Recorder {
 public:
  // Opens (or makes) the store, archives the candidates' sources and the device's card, and begins
  // a run. `command` is how a person would repeat it.
  static Result<Recorder> Open(const std::filesystem::path& path, const Machine& machine,
                               const std::vector<Entry>& entries, const std::string& command,
                               const std::string& suite_name);

  Result<void> Add(const Verdict& verdict);
  size_t count() const { return count_; }
  // The id of the machine, as the run keeps it (identity.h).
  const std::string& machine_id() const { return machine_id_; }

 private:
  Recorder(store::Store store, int64_t run, std::string machine_id)
      : store_(std::move(store)), run_(run), machine_id_(std::move(machine_id)) {}

  store::Store store_;
  int64_t run_;
  std::string machine_id_;
  size_t count_ = 0;
  std::map<std::string, std::string> operator_files_;  // archived under which hash, by folder
};

}  // namespace roofmark::pipeline
