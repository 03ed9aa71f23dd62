// SPDX-License-Identifier: Apache-2.0
// One thread a core takes the next file; results are handed on in the order of the files.
#include "pipeline/mine_fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

#include "base/files.h"

namespace roofmark::pipeline {
namespace {

using Outcome = Result<std::variant<trace::ProfileSummary, Aggregate>>;

Outcome MineOne(const trace::ProfileInput& input, const trace::Rules& rules) {
  if (IsAggregate(input.path)) return TRY(ReadAggregate(input.path));
  return TRY(trace::MineProfile(input.path, rules, input.options));
}

class Work {
 public:
  Work(const std::vector<trace::ProfileInput>& inputs, const trace::Rules& rules)
      : inputs_(inputs), rules_(rules), outcomes_(inputs.size()) {
    const size_t cores = std::max(1U, std::thread::hardware_concurrency());
    for (size_t i = 0; i < std::min(cores, inputs.size()); ++i) {
      threads_.emplace_back([this] { Run(); });
    }
  }
  ~Work() { next_ = inputs_.size(); }

  // Waits for the outcome of one input.
  Outcome Take(size_t index) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return outcomes_[index].has_value(); });
    return std::move(*outcomes_[index]);
  }

 private:
  void Run() {
    for (size_t index = next_++; index < inputs_.size(); index = next_++) {
      Outcome outcome = MineOne(inputs_[index], rules_);
      const std::scoped_lock lock(mutex_);
      outcomes_[index] = std::move(outcome);
      finished_.notify_all();
    }
  }

  const std::vector<trace::ProfileInput>& inputs_;
  const trace::Rules& rules_;
  std::vector<std::optional<Outcome>> outcomes_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::vector<std::jthread> threads_;  // last: they use the members above
};

}  // namespace

Result<MinedFleet> MineFleet(const std::vector<fs::path>& paths, const trace::Rules& rules,
                             const SummarySink& sink) {
  const std::vector<trace::ProfileInput> inputs = TRY(trace::FindProfiles(paths));
  if (inputs.empty()) {
    return Fail(
        ErrorKind::kNotFound,
        "no profile in what was named (folders are searched for *.json, *.sqlite, *.db, *.rpd, "
        "*_kernel_trace.csv, packed or not)");
  }
  MinedFleet fleet = TRY(MineInputs(inputs, rules, sink, OnFailure::kStop));
  if (fleet.profiles + fleet.aggregates == 0) {
    return Fail(ErrorKind::kInput,
                fmt::format("none of {} files is a profile: {}", inputs.size(), fleet.skipped[0]));
  }
  return fleet;
}

Result<MinedFleet> MineInputs(const std::vector<trace::ProfileInput>& inputs,
                              const trace::Rules& rules, const SummarySink& sink,
                              OnFailure on_failure) {
  MinedFleet fleet;
  Work work(inputs, rules);
  for (size_t index = 0; index < inputs.size(); ++index) {
    Outcome outcome = work.Take(index);
    if (!outcome) {
      const bool named = !inputs[index].searched;
      if (named && on_failure == OnFailure::kStop) return std::unexpected(outcome.error());
      (named ? fleet.failed : fleet.skipped).push_back(outcome.error().message());
      continue;
    }
    if (auto* aggregate = std::get_if<Aggregate>(&*outcome)) {
      fleet.aggregate.Merge(*aggregate);
      ++fleet.aggregates;
      continue;
    }
    auto& summary = std::get<trace::ProfileSummary>(*outcome);
    ++fleet.profiles;
    if (sink) sink(summary, index + 1, inputs.size());
    if (summary.role == trace::ProfileRole::kProduction) {
      fleet.aggregate.Add(std::move(summary.aggregate));
    }
  }
  return fleet;
}

// Aggregates are written compactly, so their first bytes tell.
bool IsAggregate(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string head(64, '\0');
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head.find("\"roofmark-aggregate/") != std::string::npos;
}

Result<Aggregate> ReadAggregate(const fs::path& path) {
  Result<Json> json = ReadJson(path);
  if (!json && json.error().kind() == ErrorKind::kInput) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}; if it is a profile, `roofmark mine {} -o fleet.json` makes an "
                            "aggregate of it",
                            json.error().message(), path.string()));
  }
  return TRY_IN(Aggregate::FromJson(TRY(std::move(json))), "reading aggregate " + path.string());
}

}  // namespace roofmark::pipeline
