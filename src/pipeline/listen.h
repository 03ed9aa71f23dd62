// SPDX-License-Identifier: Apache-2.0
// Jobs as lines in, verdicts as lines out: what `judge --listen` does. References stay warm between
// jobs, and the next jobs are compiled while one is measured on a GPU. Each job gets, in order:
//   a verdict for each shape, as `judge --json` writes it, with "id"
//   {"id", "done": true, "verdicts": n, "passed": n, "skipped": n}, where the verdicts of a
//   baseline do not count, and with a baseline "against", the total, with "workloads" and
//   "not_slower_anywhere"; or
//   {"id", "error": {"kind", "message"}}, after which the next job begins;
// a line that is no job gets {"id": text or null, "line": n, "error": {...}}.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "base/json.h"
#include "base/line_reader.h"
#include "base/result.h"
#include "pipeline/evaluate.h"
#include "pipeline/record.h"
#include "suite/suite.h"

namespace roofmark::pipeline {

struct ListenOptions {
  gate::JudgeOptions judge;      // where a job does not say otherwise
  std::set<std::string> shapes;  // "operator/id" that a job gets which names none
  bool quick = false;
  std::filesystem::path against;  // a baseline; empty = none
  std::optional<Mode> mode;       // of all candidates; empty = as each declares
  std::string alias;              // what candidates call the operator; empty = its name
  bool hold_baselines = false;    // a job's candidate that calls itself a baseline is none
  // Told who holds the device, where a job waits for it.
  std::function<void(const std::string&)> waiting;
};

// Longer lines are refused: a source of 1 MiB fits, escaped in any way.
inline constexpr size_t kMostLineBytes = size_t{8} << 20;

// Until the end of the input. `suite` holds every shape that a job may name. Errors: kIo where the
// input or the output breaks; whatever is wrong with a job goes to `out`.
Result<void> Listen(LineReader* in, const std::function<Result<void>(const Json&)>& out,
                    const suite::Suite& suite, const Machine& machine, Recorder* recorder,
                    const ListenOptions& options);

std::string_view ErrorKindName(ErrorKind kind);

}  // namespace roofmark::pipeline
