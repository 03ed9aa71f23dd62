// SPDX-License-Identifier: Apache-2.0
// Whether the machine code in the cache of Triton's compiler is its work. The candidate's process
// can write to that cache, so the intermediate code that lies beside a code object (.ttir, or
// .ttgir, where Gluon begins) is compiled again, in a sandbox that never runs code of the
// candidate, and the two must be the same (same_code.h). A cubin from elsewhere has no intermediate
// code that gives it.
//
// The compiler is a warm process without a GPU, started ahead of the candidate's turn; it compiles
// on cores that nobody uses, while the judge goes on, and a verdict is held back until it is done.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "model/verdict.h"
#include "worker/worker.h"

namespace roofmark::gate {

enum class Patience { kNone, kWait };

// What compiling again has come to for the code objects that ran on one workload.
struct Recompiled {
  bool settled = true;  // false: some are still being compiled
  std::string refuted;  // which is not the compiler's work, and why; empty = none
  std::string level;    // how many were the same, or why nothing was compiled
};

class Recompiler {
 public:
  // For the device of this architecture ("sm_90"). `account` is whose time it is (ledger.h).
  Recompiler(std::string arch, std::string account)
      : arch_(std::move(arch)), account_(std::move(account)) {}

  // Begins to start the compiler's process, so that it is warm when it is needed.
  void Spawn();
  // Begins with what is new in the worker's scratch folder; waits for nothing. Where much is new at
  // once, the candidate looks for the best of many kernels, and Need will say which it is.
  void BeginAhead(const std::filesystem::path& scratch);
  // Begins with those that ran, by their hashes.
  void Need(const std::vector<std::string>& ran, const std::filesystem::path& scratch);
  // What has become of them. Requires: Need was called with them.
  Recompiled Hear(const std::vector<std::string>& ran, Patience patience);

 private:
  struct Job {
    std::string kernel;
    std::string cubin;  // as the candidate's compiler left it
    std::string ttir, ttgir, options;
    std::string stage;        // which is being compiled, or was last
    std::string why;          // the first stage that gave something else, in words
    bool incomplete = false;  // files were missing, and may have come since
    bool done = false;
    int server = 0;  // which has it
    int deaths = 0;  // of servers that had it
  };
  struct File {
    struct stat stamp;
    std::string hash;
  };
  struct Found {
    std::filesystem::path path;
    std::string hash;
  };

  std::vector<Found> Fresh(const std::filesystem::path& scratch);
  void Begin(const Found& found);
  void Submit(const std::string& hash, Job* job);
  void Advance(const std::string& hash, Job* job, Patience patience);
  void Take(const Json& done, const std::string& hash, Job* job);
  void Refute(Job* job, std::string why);
  bool Ready();
  std::optional<Json> Ask(const Json& request, double timeout_s);

  std::string arch_;
  std::string account_;
  std::optional<TempDir> folder_;
  std::unique_ptr<worker::Worker> worker_;
  bool greeted_ = false;
  int server_ = 0;      // counts the processes
  std::string unable_;  // why this machine cannot compile again; empty = it can
  std::string death_;   // of the last process
  std::map<std::string, File> files_;
  std::map<std::string, Job> jobs_;  // by the hash of the cubin
};

// Completes a verdict with what has become of the code that ran, `by` its contestant's recompiler.
// False where that is not known yet and `patience` is kNone.
bool SettleVerdict(const std::vector<std::string>& code, Patience patience, Recompiler& by,
                   Verdict* verdict);

}  // namespace roofmark::gate
