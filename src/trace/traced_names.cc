// SPDX-License-Identifier: Apache-2.0
// Names become numbers, threads become texts of numbers; a table of all runs of 16 finds where a
// text of the profile occurs in that of the trace.
#include "trace/traced_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>

#include "trace/op_forest.h"
#include "trace/op_texts.h"
#include "trace/step_label.h"

namespace roofmark::trace {
namespace {

constexpr size_t kRun = 16;
constexpr double kFloor = 0.9;
// Comparisons of names, of which a model's thousand layers take few: after so many the rest stays
// without arguments.
constexpr uint64_t kMostWork = uint64_t{1} << 28;
constexpr uint32_t kNowhere = kNone32;

// A thread of the trace ends with a name that nothing has.
struct Place {
  uint32_t name = kNowhere;
  uint32_t op = kNone32;         // row in the trace
  uint32_t arguments = kNone32;  // equal numbers are equal arguments
};

class NameText {
 public:
  explicit NameText(const ExecutionTrace& trace) : trace_(trace) {
    std::vector<uint32_t> rows(trace.ops.size());
    for (uint32_t row = 0; row < rows.size(); ++row) rows[row] = row;
    std::ranges::stable_sort(rows, {}, [&](uint32_t row) { return trace.ops[row].id; });
    std::unordered_map<uint64_t, std::string> labels;  // of the step, by node
    std::map<uint64_t, std::vector<uint32_t>> threads;
    std::vector<uint32_t> names(rows.size());
    for (const uint32_t row : rows) {
      const TracedOp& op = trace.ops[row];
      const auto around = labels.find(op.parent);
      std::string label = around == labels.end() ? std::string() : around->second;
      names[row] = names_.try_emplace({op.arguments.name, label}, names_.size()).first->second;
      const bool is_step = ParseStepLabel(op.arguments.name).has_value();
      if (is_step) label = op.arguments.name;
      if (!label.empty()) labels.insert_or_assign(op.id, std::move(label));
      // Annotations are no operators, in the profile neither.
      if (!is_step && !op.arguments.name.starts_with("[pytorch|"))
        threads[op.thread].push_back(row);
    }
    for (const auto& [thread, of_thread] : threads) {
      for (const uint32_t row : of_thread) {
        const TracedArguments& given = trace.ops[row].arguments;
        const auto arguments = arguments_.try_emplace({given.dims, given.types, given.concrete},
                                                      static_cast<uint32_t>(arguments_.size()));
        text_.push_back({names[row], row, arguments.first->second});
      }
      text_.emplace_back();
    }
    for (uint32_t at = 0; at + kRun <= text_.size(); ++at) {
      const std::span<const Place> run = std::span(text_).subspan(at, kRun);
      if (std::ranges::find(run, kNowhere, &Place::name) == run.end()) {
        runs_[HashOf(run, &Place::name)].push_back(at);
      }
    }
  }

  // kNowhere where the trace has no such name.
  uint32_t Name(std::string_view name, std::string_view label) const {
    const auto found = names_.find({std::string(name), std::string(label)});
    return found == names_.end() ? kNowhere : found->second;
  }

  // Where the longest run of the trace that begins `names` is; all places of that length.
  std::vector<uint32_t> Longest(std::span<const uint32_t> names, size_t& length) {
    std::vector<uint32_t> places;
    length = 0;
    if (names.size() < kRun || work_ > kMostWork) return places;
    const auto found = runs_.find(HashOf(names.first(kRun), std::identity()));
    if (found == runs_.end()) return places;
    for (const uint32_t at : found->second) {
      size_t same = 0;
      while (same < names.size() && names[same] != kNowhere &&
             text_[at + same].name == names[same]) {
        ++same;
      }
      work_ += same + 1;
      if (work_ > kMostWork) {
        length = 0;
        return {};
      }
      if (same < kRun || same < length) continue;
      if (same > length) places.clear();
      length = same;
      places.push_back(at);
    }
    return places;
  }

  // The arguments at the same distance from all places; nullptr where those disagree.
  const TracedArguments* Agreed(const std::vector<uint32_t>& places, size_t distance) const {
    const Place& first = text_[places[0] + distance];
    for (const uint32_t place : places) {
      if (text_[place + distance].arguments != first.arguments) return nullptr;
    }
    return &trace_.ops[first.op].arguments;
  }

 private:
  template <typename Items, typename Projection>
  static uint64_t HashOf(const Items& items, Projection name) {
    uint64_t hash = 0;
    for (const auto& item : items) hash = (hash ^ std::invoke(name, item)) * 0x9E3779B97F4A7C15U;
    return hash;
  }

  const ExecutionTrace& trace_;
  std::map<std::pair<std::string, std::string>, uint32_t> names_;  // by name and step label
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> arguments_;
  std::vector<Place> text_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> runs_;  // where each begins
  uint64_t work_ = 0;
};

// Names of a profile in the numbers of the trace, each looked up once.
class ProfileNames {
 public:
  ProfileNames(const Profile& profile, const OpForest& forest, const NameText& text)
      : profile_(profile), forest_(forest), text_(text) {}

  uint32_t NameOf(uint32_t row) {
    const TextId name = profile_.ops[row].name;
    const TextId label = LabelAround(row);
    const auto [entry, fresh] = known_.try_emplace(uint64_t{name} << 32 | label, kNowhere);
    if (fresh) {
      entry->second = text_.Name(profile_.text.Text(name),
                                 label == kNoText ? std::string_view() : profile_.text.Text(label));
    }
    return entry->second;
  }

 private:
  TextId LabelAround(uint32_t row) {
    for (; row != kNone32; row = forest_.Parent(row)) {
      if (!profile_.ops[row].annotation) continue;
      const TextId name = profile_.ops[row].name;
      const auto [entry, fresh] = is_label_.try_emplace(name, false);
      if (fresh) entry->second = ParseStepLabel(profile_.text.Text(name)).has_value();
      if (entry->second) return name;
    }
    return kNoText;
  }

  const Profile& profile_;
  const OpForest& forest_;
  const NameText& text_;
  std::unordered_map<uint64_t, uint32_t> known_;  // by name and label
  std::unordered_map<TextId, bool> is_label_;
};

// An operator of the profile that stands in a run of the trace.
struct Matched {
  uint32_t row = 0;
  const TracedArguments* arguments = nullptr;  // nullptr: the places of the run disagree
  TracedFrom from;
};

// What one thread of the profile got.
struct ThreadMatch {
  std::vector<Matched> ops;
  uint64_t disputed = 0;
};

ThreadMatch MatchThread(std::span<const uint32_t> rows, std::span<const uint32_t> names,
                        NameText& text) {
  ThreadMatch match;
  for (size_t at = 0; at < rows.size();) {
    size_t length = 0;
    const std::vector<uint32_t> places = text.Longest(names.subspan(at), length);
    for (size_t i = 0; i < length; ++i) {
      const TracedArguments* arguments = text.Agreed(places, i);
      if (arguments == nullptr) ++match.disputed;
      match.ops.push_back({.row = rows[at + i],
                           .arguments = arguments,
                           .from = {.run = static_cast<uint32_t>(length),
                                    .places = static_cast<uint32_t>(places.size()),
                                    .disputed = arguments == nullptr}});
    }
    at += std::max<size_t>(length, 1);
  }
  return match;
}

}  // namespace

NamesMatched AddArgumentsByNames(const ExecutionTrace& trace, Profile& profile, TracedOps* traced) {
  NamesMatched matched;
  NameText text(trace);
  const OpForest forest(profile);
  ProfileNames names_of(profile, forest, text);
  std::vector<uint32_t> rows;
  std::vector<uint32_t> names;
  const auto take_thread = [&] {
    const ThreadMatch match = MatchThread(rows, names, text);
    const bool same_program =
        static_cast<double>(match.ops.size()) >= kFloor * static_cast<double>(rows.size());
    if (same_program) matched.disputed += match.disputed;
    for (const auto& [row, arguments, from] : match.ops) {
      if (!same_program || HasDims(profile.ops[row].arguments, profile.text)) continue;
      if (arguments != nullptr) {
        if (arguments->dims.empty()) continue;
        GiveArguments(*arguments, row, profile);
        ++matched.given;
      }
      MarkTraced(from, row, profile, traced);
    }
    rows.clear();
    names.clear();
  };
  for (const uint32_t row : forest.InOrder()) {
    const CpuOp& op = profile.ops[row];
    if (!rows.empty() && profile.ops[rows.back()].thread != op.thread) take_thread();
    if (op.annotation) continue;
    rows.push_back(row);
    names.push_back(names_of.NameOf(row));
  }
  take_thread();
  return matched;
}

}  // namespace roofmark::trace
