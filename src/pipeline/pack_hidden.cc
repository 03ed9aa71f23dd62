// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "pipeline/pack_hidden_internal.h"
#include "roofline/device_file.h"
#include "roofline/roofline.h"
#include "suite/make_workload.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

// Formulas such as "2*m" are too short to be told from code that happens to look like them.
constexpr size_t kShortestText = 8;
constexpr size_t kShortestId = 5;

void AddFigure(double value, std::string what, Hidden* hidden) {
  if (value != 0) hidden->figures.push_back({.value = value, .what = std::move(what)});
}

void AddText(std::string_view text, Hidden* hidden) {
  std::string squeezed = Squeeze(text);
  if (squeezed.size() >= kShortestText) hidden->texts.push_back(std::move(squeezed));
}

// Every number below the released facts, whatever its key, so that a new one is hidden at once.
void AddNumbersOf(const Json& json, const std::string& what, Hidden* hidden) {
  if (json.is_number()) AddFigure(json.as_double(), what, hidden);
  if (json.is_array()) {
    for (const Json& entry : json.array()) AddNumbersOf(entry, what, hidden);
  }
  if (json.is_object()) {
    for (const auto& [key, value] : json.object()) AddNumbersOf(value, what + " " + key, hidden);
  }
}

Result<void> AddReleased(const Operator& op, Hidden* hidden) {
  std::set<std::string> words;
  for (const Json& line : TRY(ReadJsonLines(op.folder / "shapes.jsonl"))) {
    const Json* published = line.Find("published");
    if (published == nullptr) continue;
    AddNumbersOf(*published, fmt::format("{}/{}", op.name, TRY(line.String("id"))), hidden);
    for (const char* key : {"source", "prod_framework"}) {
      const Json* word = published->Find(key);
      if (word != nullptr && word->is_string()) words.insert(Squeeze(word->as_string()));
    }
  }
  words.erase("unstated");  // the absence of a source is no secret
  hidden->words.assign(words.begin(), words.end());
  return {};
}

void AddComputed(const Workload& workload, Hidden* hidden) {
  for (size_t i = 0; i < kEngineCount; ++i) {
    AddFigure(workload.work[i],
              fmt::format("{} W {}", workload.Id(), EngineName(static_cast<Engine>(i))), hidden);
  }
  AddFigure(workload.traffic.read_bytes, workload.Id() + " bytes read", hidden);
  AddFigure(workload.traffic.write_bytes, workload.Id() + " bytes written", hidden);
  AddFigure(workload.traffic.Total(), workload.Id() + " bytes moved", hidden);
}

void AddSol(const Workload& workload, const std::vector<DeviceCard>& cards, Hidden* hidden) {
  for (const DeviceCard& card : cards) {
    for (const auto against :
         {roofline::CeilingKind::kDatasheet, roofline::CeilingKind::kMeasured}) {
      const roofline::SolTime sol =
          roofline::ComputeSol(workload, card, against, roofline::LaunchFloor::kWithout);
      AddFigure(sol.sol_ns,
                fmt::format("{} SOL time on {} ({})", workload.Id(), card.name,
                            roofline::CeilingKindName(against)),
                hidden);
    }
  }
}

void AddTexts(const Operator& op, Hidden* hidden) {
  AddText(op.source, hidden);
  AddText(op.read_bytes, hidden);
  AddText(op.write_bytes, hidden);
  AddText(op.published.read, hidden);
  AddText(op.published.write, hidden);
  AddText(op.published.differs, hidden);
  for (const WorkTerm& term : op.work) {
    AddText(term.ops, hidden);
    AddText(term.source, hidden);
  }
  for (const auto& [dtype, formula] : op.published.work) AddText(formula, hidden);
}

}  // namespace

std::string Squeeze(std::string_view text) {
  std::string squeezed;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) {
      squeezed += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return squeezed;
}

Result<Hidden> CollectHidden(const Operator& op, const fs::path& devices) {
  std::vector<DeviceCard> cards;
  if (fs::exists(devices)) cards = TRY(roofline::ReadDevices(devices));
  Hidden hidden;
  AddFigure(op.weight_published, op.name + " weight", &hidden);
  AddFigure(100 * op.weight_published, op.name + " weight in percent", &hidden);
  TRY(AddReleased(op, &hidden));
  for (const Shape& shape : op.shapes) {
    const Workload workload = TRY(suite::MakeWorkload(op, shape));
    AddFigure(suite::PublishedWeight(op, shape).value, workload.Id() + " weight", &hidden);
    // Shorter ids ("0") are words of any text.
    if (shape.hidden && shape.id.size() >= kShortestId) hidden.words.push_back(Squeeze(shape.id));
    AddComputed(workload, &hidden);
    AddSol(workload, cards, &hidden);
  }
  AddTexts(op, &hidden);
  // A figure found once is named once, by the first that has it.
  std::ranges::stable_sort(hidden.figures, {}, &HiddenFigure::value);
  const auto repeated = std::ranges::unique(hidden.figures, {}, &HiddenFigure::value);
  hidden.figures.erase(repeated.begin(), repeated.end());
  return hidden;
}

}  // namespace roofmark::pipeline
