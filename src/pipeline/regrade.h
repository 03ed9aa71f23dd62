// SPDX-License-Identifier: Apache-2.0
// Reproduces verdicts from the archive alone, in two parts. First all numbers of the performance
// gate are computed anew from the raw samples, by the code that judged them. Then the archived
// candidate is compiled and checked again, with the archived operator and the inputs of that time,
// which follow from the session's secret. The time is not measured again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/verdict.h"
#include "store/store.h"

namespace roofmark::pipeline {

struct Regraded {
  enum class Status {
    kSame,
    kDifferent,
    kNotArchived,  // kept by a Roofmark that archived no evidence
    kDamaged,      // the archive does not fit its hashes
  };
  int64_t id = 0;
  Verdict verdict;  // as it was kept
  Status status = Status::kSame;
  bool recomputed = false;               // the numbers, from raw samples
  bool ran = false;                      // compile and correctness, again
  std::vector<std::string> differences;  // or what is damaged
  std::vector<std::string> notes;        // what could not be done again, and what changed since
};
std::string_view StatusName(Regraded::Status status);  // "same", "different", "not_archived", ...
Json RegradedToJson(const Regraded& regraded);

// Where the numbers computed anew are not those of the verdict, to the last bit.
std::vector<std::string> DifferencesOf(const Verdict& archived, const Verdict& again);

struct RegradeOptions {
  std::optional<int64_t> id;  // one verdict; nothing = all
  bool run = true;            // compile and check again where this machine has the device
};
using RegradeSink = std::function<void(const Regraded&)>;

// Tells of each verdict, in groups that share a candidate. Errors: kNotFound where there is no such
// verdict; the machine's. Damage is a status, not an error.
Result<void> Regrade(const store::Store& store, const RegradeOptions& options,
                     const RegradeSink& sink);

}  // namespace roofmark::pipeline
