// SPDX-License-Identifier: Apache-2.0
// From problems of other benchmarks to operators and candidates of Roofmark: Atrex-Bench operator
// directories, KernelBench problem files, FlashInfer-Bench definitions with workloads and
// solutions, SOL-ExecBench problems. These files are programs whose shapes are known only by
// running them, so they are described by a sandboxed Python worker (worker/python); this side
// decides what is written, and believes nothing that it can check.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::exchange {

// changed: carried, but not as it was.
enum class Fate { kCarried, kChanged, kNotCarried };
std::string_view FateName(Fate fate);  // "carried" "changed" "not_carried"

struct Item {
  std::string item;  // the file, definition, shape or workload, as its own benchmark names it
  Fate fate = Fate::kCarried;
  std::string what;  // a sentence for a person
};

struct ImportRequest {
  std::filesystem::path source;  // a folder, or one file of it
  std::filesystem::path out;
  // "auto", "atrex", "kernelbench", "flashinfer-bench" or "sol-execbench".
  std::string format = "auto";
};

struct ImportReport {
  std::vector<Item> items;
  std::vector<std::string> operators;   // names, in order
  std::vector<std::string> candidates;  // "operator/name", in order
};

// Writes, for each problem, <out>/operators/<name>/ (operator.toml, shapes.jsonl, reference.py,
// import.json and the original files in origin/) and <out>/candidates/<name>/reference/, its own
// implementation as a baseline; for each solution <out>/candidates/<name>/<solution>/. What was
// imported before is replaced; anything else is left alone. Every written operator has been read
// back. `tell` hears of each item as soon as it is known.
// Errors: kNotFound, kIo, kDevice; kInput where nothing in the source is known.
Result<ImportReport> Import(const ImportRequest& request,
                            const std::function<void(const Item&)>& tell);

}  // namespace roofmark::exchange
