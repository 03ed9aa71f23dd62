// SPDX-License-Identifier: Apache-2.0
// The audit trail of a campaign and its only state: one JSON object a line, appended and synced to
// disk before anything acts on it. Each line carries the hash of the one before, so a line that was
// changed, dropped or put in later is noticed. Whoever reads the file again knows exactly where the
// campaign stood when it was killed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/owned.h"
#include "base/result.h"

namespace roofmark::agent {

class Journal {
 public:
  // Opens or creates the file and locks it against other processes. A last line without its end,
  // which a kill in the middle of a write leaves, is cut off.
  // Errors: kInput where a whole line does not parse or does not follow from the one before (the
  // file is left as it is), or where another process has it; kIo.
  static Result<Journal> Open(const std::filesystem::path& path);

  const std::vector<Json>& events() const { return events_; }

  // Adds "seq" and "previous" in front, writes the line and waits until the disk has it.
  // Requires: the event is an object.
  Result<void> Append(const Json& event);

 private:
  Journal(std::filesystem::path path, Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Result<void> Load(const std::string& text);

  std::filesystem::path path_;
  Fd fd_;
  std::vector<Json> events_;
  std::string last_hash_ = "start";
};

}  // namespace roofmark::agent
