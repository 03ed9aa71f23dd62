// SPDX-License-Identifier: Apache-2.0
#include "pipeline/mine_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/files.h"

namespace roofmark::pipeline {
namespace {

constexpr size_t kMostParts = 256;

fs::path PartPath(const fs::path& folder, size_t number, std::string_view suffix) {
  return folder / fmt::format("part-{}{}", number, suffix);
}

Json PathsToJson(const std::vector<fs::path>& paths) {
  Json json = Json::MakeArray();
  for (const fs::path& path : paths) json.Push(fs::absolute(path).string());
  return json;
}

Json InputToJson(const trace::ProfileInput& input) {
  const trace::MineOptions& options = input.options;
  Json facts = Json::MakeObject();
  for (const auto& [name, value] : options.facts) facts.Set(name, value);
  Json json = Json::MakeObject();
  json.Set("path", fs::absolute(input.path).string()).Set("searched", input.searched);
  json.Set("application", options.application).Set("group", options.group);
  json.Set("card_ms", options.card_ms ? Json(*options.card_ms) : Json());
  json.Set("model", options.model).Set("framework", options.framework);
  json.Set("device", options.device).Set("ranks", options.ranks).Set("facts", std::move(facts));
  json.Set("captures", PathsToJson(options.captures));
  json.Set("execution_traces", PathsToJson(options.execution_traces));
  return json;
}

Result<std::vector<fs::path>> PathsFromJson(const Json& json, std::string_view key) {
  std::vector<fs::path> paths;
  for (const Json& path : TRY(json.ArrayAt(key))->array()) {
    if (!path.is_string()) return Fail(ErrorKind::kInput, "a path must be a text");
    paths.emplace_back(path.as_string());
  }
  return paths;
}

Result<trace::ProfileInput> InputFromJson(const Json& json) {
  trace::ProfileInput input;
  input.path = TRY(json.String("path"));
  input.searched = TRY(json.Bool("searched"));
  trace::MineOptions& options = input.options;
  options.application = TRY(json.String("application"));
  options.group = TRY(json.String("group"));
  const Json* card = json.Find("card_ms");
  if (card != nullptr && !card->is_null()) options.card_ms = TRY(json.Int("card_ms"));
  options.model = TRY(json.String("model"));
  options.framework = TRY(json.String("framework"));
  options.device = TRY(json.String("device"));
  options.ranks = TRY(json.Int("ranks"));
  for (const auto& [name, value] : TRY(json.ObjectAt("facts"))->object()) {
    if (!value.is_int()) return Fail(ErrorKind::kInput, "a fact must be a whole number");
    options.facts[name] = value.as_int();
  }
  options.captures = TRY(PathsFromJson(json, "captures"));
  options.execution_traces = TRY(PathsFromJson(json, "execution_traces"));
  return input;
}

std::string Lines(std::span<const trace::ProfileInput> inputs) {
  std::string text;
  for (const trace::ProfileInput& input : inputs) text += InputToJson(input).Dump() + "\n";
  return text;
}

Json TextsToJson(const std::vector<std::string>& texts) {
  Json json = Json::MakeArray();
  for (const std::string& text : texts) json.Push(text);
  return json;
}

class Parts {
 public:
  Parts(fs::path folder, PartRunner& runner, const PartsOptions& options,
        const std::function<void(size_t, size_t)>& progress)
      : folder_(std::move(folder)), runner_(runner), options_(options), progress_(progress) {}

  // Parts take every n-th input, so that large neighbours are spread.
  Result<void> Split(const std::vector<trace::ProfileInput>& inputs) {
    const size_t wanted = options_.parts == 0 ? kMostParts : options_.parts;
    const size_t count = std::min(wanted, inputs.size());
    std::vector<std::vector<trace::ProfileInput>> split(count);
    for (size_t i = 0; i < inputs.size(); ++i) split[i % count].push_back(inputs[i]);
    const std::string all = fmt::format("{} parts\n{}", count, Lines(inputs));
    const fs::path list = folder_ / "inputs.txt";
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) {
      return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder_.string(), error.message()));
    }
    if (fs::exists(list) && TRY(ReadFile(list)) != all) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{} holds the parts of other inputs, perhaps of a run that goes on; "
                              "remove it, or write to another place",
                              folder_.string()));
    }
    for (std::vector<trace::ProfileInput>& part : split) TRY(AddPart(std::move(part)));
    return WriteFile(list, all);
  }

  // Runs what is not done, up to `attempts` times.
  Result<void> RunAll(size_t attempts) {
    for (size_t attempt = 0; attempt < attempts; ++attempt) {
      const std::vector<size_t> left = NotDone();
      if (left.empty()) return {};
      TRY(runner_.Run(folder_, left, [this] { Show(); }));
      Show();
    }
    return {};
  }

  // What keeps failing is split into its files, and run again.
  Result<void> IsolateFailures() {
    for (const size_t number : NotDone()) {
      if (parts_[number].size() < 2) continue;
      for (const trace::ProfileInput& input : parts_[number]) TRY(AddPart({input}));
      parts_[number].clear();
    }
    return RunAll(std::max<size_t>(1, options_.attempts - 1));
  }

  Result<MinedFleet> Fold() {
    MinedFleet fleet;
    for (size_t number = 0; number < parts_.size(); ++number) {
      if (parts_[number].empty()) continue;
      const fs::path path = PartPath(folder_, number, ".json");
      if (!fs::exists(path)) {
        const trace::ProfileInput& input = parts_[number].front();
        const std::string why =
            fmt::format("{}: its part failed {} times ({}.log)", input.path.string(),
                        options_.attempts, PartPath(folder_, number, "").string());
        if (!input.searched) return Fail(ErrorKind::kIo, why);
        fleet.skipped.push_back(why);
        continue;
      }
      TRY_IN(FoldOne(path, fleet), "reading part " + path.string());
    }
    return fleet;
  }

 private:
  Result<void> AddPart(std::vector<trace::ProfileInput> inputs) {
    const fs::path list = PartPath(folder_, parts_.size(), ".inputs.jsonl");
    const std::string text = Lines(inputs);
    // A part that was done for other inputs is none of ours.
    if (!fs::exists(list) || TRY(ReadFile(list)) != text) {
      std::error_code ignored;
      fs::remove(PartPath(folder_, parts_.size(), ".json"), ignored);
      TRY(WriteFile(list, text));
    }
    parts_.push_back(std::move(inputs));
    return {};
  }

  std::vector<size_t> NotDone() const {
    std::vector<size_t> left;
    for (size_t number = 0; number < parts_.size(); ++number) {
      if (!parts_[number].empty() && !fs::exists(PartPath(folder_, number, ".json"))) {
        left.push_back(number);
      }
    }
    return left;
  }

  void Show() {
    const auto all = std::ranges::count_if(parts_, [](const auto& part) { return !part.empty(); });
    const auto total = static_cast<size_t>(all);
    if (progress_) progress_(total - NotDone().size(), total);
  }

  static Result<void> FoldOne(const fs::path& path, MinedFleet& fleet) {
    const Json json = TRY(ReadJson(path));
    const Json& failed = *TRY(json.ArrayAt("failed"));
    for (const Json& why : failed.array()) {
      if (why.is_string()) return Fail(ErrorKind::kInput, why.as_string());
    }
    for (const Json& why : TRY(json.ArrayAt("skipped"))->array()) {
      if (why.is_string()) fleet.skipped.push_back(why.as_string());
    }
    fleet.profiles += static_cast<size_t>(TRY(json.Int("profiles")));
    fleet.aggregates += static_cast<size_t>(TRY(json.Int("aggregates")));
    fleet.aggregate.Merge(TRY(Aggregate::FromJson(*TRY(json.ObjectAt("aggregate")))));
    return {};
  }

  fs::path folder_;
  PartRunner& runner_;
  PartsOptions options_;
  const std::function<void(size_t, size_t)>& progress_;
  std::vector<std::vector<trace::ProfileInput>> parts_;
};

}  // namespace

Result<MinedFleet> MineParts(const std::vector<trace::ProfileInput>& inputs, const fs::path& folder,
                             PartRunner& runner, const PartsOptions& options,
                             const std::function<void(size_t done, size_t total)>& progress) {
  if (inputs.empty()) return Fail(ErrorKind::kNotFound, "no profile in what was named");
  Parts parts(fs::absolute(folder), runner, options, progress);
  TRY(parts.Split(inputs));
  TRY(parts.RunAll(options.attempts));
  TRY(parts.IsolateFailures());
  MinedFleet fleet = TRY(parts.Fold());
  if (fleet.profiles + fleet.aggregates == 0) {
    return Fail(ErrorKind::kInput, fmt::format("none of {} files is a profile: {}", inputs.size(),
                                               fleet.skipped.front()));
  }
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  return fleet;
}

Result<void> MinePart(const fs::path& part, const trace::Rules& rules) {
  const fs::path list = part.string() + ".inputs.jsonl";
  std::vector<trace::ProfileInput> inputs;
  size_t number = 0;
  for (const Json& line : TRY(ReadJsonLines(list))) {
    inputs.push_back(
        TRY_IN(InputFromJson(line), fmt::format("{}: line {}", list.string(), ++number)));
  }
  const MinedFleet fleet = TRY(MineInputs(inputs, rules, {}, OnFailure::kGoOn));
  Json json = Json::MakeObject();
  json.Set("profiles", static_cast<int64_t>(fleet.profiles));
  json.Set("aggregates", static_cast<int64_t>(fleet.aggregates));
  json.Set("failed", TextsToJson(fleet.failed)).Set("skipped", TextsToJson(fleet.skipped));
  json.Set("aggregate", fleet.aggregate.ToJson());
  return WriteFile(part.string() + ".json", json.Dump() + "\n");
}

}  // namespace roofmark::pipeline
