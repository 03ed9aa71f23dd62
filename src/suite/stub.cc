// SPDX-License-Identifier: Apache-2.0
#include "suite/stub.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "suite/aggregate_weights.h"
#include "suite/expression.h"

namespace roofmark::suite {
namespace {

constexpr size_t kMostShapes = 32;
constexpr size_t kMostKernels = 3;
constexpr size_t kLongestKernelName = 80;

// All cells of one operator without a card, largest share first.
struct Unknown {
  std::string op;
  std::vector<const FleetCell*> cells;
  double share = 0;
};

std::vector<Unknown> WithoutCard(const FleetWeights& weights,
                                 std::span<const std::unique_ptr<const Operator>> operators) {
  std::set<std::string, std::less<>> known;
  for (const auto& op : operators) known.insert(op->name);
  std::map<std::string, Unknown> unknown;
  for (const FleetCell& cell : weights.cells) {
    if (cell.sums.op.empty() || known.contains(cell.sums.op)) continue;
    Unknown& entry = unknown[cell.sums.op];
    entry.op = cell.sums.op;
    entry.cells.push_back(&cell);
    entry.share += cell.share.value;
  }
  std::vector<Unknown> sorted;
  for (auto& [name, entry] : unknown) sorted.push_back(std::move(entry));
  std::ranges::stable_sort(sorted, std::greater<>(), &Unknown::share);
  return sorted;
}

// The axes of the heaviest cell that has any; other cells count as far as they have the same.
Axes AxesOf(const Unknown& unknown) {
  for (const FleetCell* cell : unknown.cells) {
    if (!cell->sums.axes.empty()) return cell->sums.axes;
  }
  return {};
}

bool SameAxes(const Axes& a, const Axes& b) {
  return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second.index() == right.second.index();
  });
}

// Names come from aggregates, which anybody can write, and end up in a file's text.
bool AllUsable(const Axes& axes) {
  return std::ranges::all_of(axes, [](const auto& axis) { return IsUsableName(axis.first); });
}

std::string CommentText(std::string_view text) {
  std::string plain;
  for (const char c : ValidUtf8(text.substr(0, kLongestKernelName))) {
    plain += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return text.size() > kLongestKernelName ? plain + "..." : plain;
}

std::string AxesTable(const Axes& axes) {
  std::string table = "[axes]\n";
  std::string attributes;
  for (const auto& [name, value] : axes) {
    if (const auto* number = std::get_if<double>(&value)) {
      attributes += fmt::format("{} = {}\n", name, Json(*number).Dump());
    } else {
      table += fmt::format("{} = \"{}\"\n", name,
                           std::holds_alternative<int64_t>(value) ? "int" : "list");
    }
  }
  return attributes.empty() ? table : table + "\n[attributes]\n" + attributes;
}

std::string InputTables(const Unknown& unknown) {
  std::map<std::string, std::string> dtypes;
  for (const FleetCell* cell : unknown.cells) {
    dtypes.insert(cell->sums.dtypes.begin(), cell->sums.dtypes.end());
  }
  std::erase_if(dtypes, [](const auto& entry) { return !IsUsableName(entry.first); });
  if (dtypes.empty()) dtypes["fill_in"] = "";
  std::string tables;
  for (const auto& [name, dtype] : dtypes) {
    tables += fmt::format(
        "[[inputs]]\nname = \"{}\"\ndtype = \"{}\"\nshape = [\"{}: a size over the axes, "
        "each\"]\n\n",
        name, ParseDType(dtype) ? dtype : std::string(kFillIn), kFillIn);
  }
  return tables;
}

std::string KernelComments(const Unknown& unknown) {
  std::map<std::string, int64_t> times;
  for (const FleetCell* cell : unknown.cells) {
    for (const auto& [name, use] : cell->sums.kernels) times[name] += use.sum_ns;
  }
  std::vector<std::pair<std::string, int64_t>> sorted(times.begin(), times.end());
  std::ranges::stable_sort(sorted, std::greater<>(), &std::pair<std::string, int64_t>::second);
  std::string text = "# Its kernels there, the longest-running first:\n";
  for (size_t i = 0; i < std::min(sorted.size(), kMostKernels); ++i) {
    text += "#   " + CommentText(sorted[i].first) + "\n";
  }
  return text;
}

constexpr std::string_view kCard =
    R"toml(# A stub that `roofmark suite build` wrote: {share:.2f} % of the fleet's GPU time
# is {op}, which has no card. Replace each "{mark}", write reference.py beside this file
# (inputs() and reference()), then delete the line `stub = true`. docs/add-an-operator.md shows a
# whole operator.
{kernels}
stub = true
name = "{op}"
summary = "{mark}: what it computes, a formula in one line"
source = "{mark}: where this contract comes from"

# As the rules record them.
{axes}
# As far as profiles name them; what is an output belongs below.
{inputs}[[outputs]]
name = "fill_in"
dtype = "{mark}"
shape = ["{mark}: a size over the axes, each"]

# One table an engine; none where nothing is computed.
[[work]]
engine = "{mark}: tensor_bf16, tensor_f16, tensor_fp8, tensor_tf32, vector_f32 or special"
ops = "{mark}: operations that the contract needs at least"
source = "{mark}: why"

[traffic]
read = "{mark}: bytes that must be read at least"
write = "{mark}: bytes that must be written at least"
source = "{mark}: why"

# One table an output, by its name.
[tolerance.fill_in]
kind = "{mark}: numeric (with rtol, atol_rms, rel_l2), exact or codes (with code_slack)"
)toml";

std::string CardText(const Unknown& unknown, const Axes& axes) {
  return fmt::format(fmt::runtime(kCard), fmt::arg("share", 100 * unknown.share),
                     fmt::arg("op", unknown.op), fmt::arg("mark", kFillIn),
                     fmt::arg("kernels", KernelComments(unknown)),
                     fmt::arg("axes", AxesTable(axes)), fmt::arg("inputs", InputTables(unknown)));
}

std::string ShapesText(const Unknown& unknown, const Axes& axes, size_t* count) {
  std::string text;
  std::set<std::string> ids;
  for (const FleetCell* cell : unknown.cells) {
    if (ids.size() == kMostShapes) break;
    if (!SameAxes(cell->sums.axes, axes)) continue;
    const Json values = AxesToJson(cell->sums.axes);
    const std::string_view phase = PhaseName(cell->sums.phase);
    const std::string id = fmt::format("fleet-{}-{}", phase, Sha256Hex(values.Dump()).substr(0, 8));
    if (!ids.insert(id).second) continue;  // the same sizes with other element types
    Json line = Json::MakeObject();
    line.Set("id", id).Set("tier", TierName(Tier::kCorrected)).Set("phase", phase);
    text += line.Set("axes", values).Dump() + "\n";
  }
  *count = ids.size();
  return text;
}

Result<Stub> WriteStub(const Unknown& unknown, const fs::path& folder) {
  Stub stub{.op = unknown.op, .share = unknown.share};
  const Axes axes = AxesOf(unknown);
  const fs::path place = folder / unknown.op;
  if (!IsUsableName(unknown.op) || !AllUsable(axes)) {
    stub.why_not = "its name or an axis cannot be a name of a card";
  } else if (axes.empty()) {
    stub.why_not = "no profile tells its shapes";
  } else if (fs::exists(place)) {
    stub.why_not = place.string() + " is there already";
  } else {
    const std::string shapes = ShapesText(unknown, axes, &stub.shapes);
    TRY(WriteFile(place / "operator.toml", CardText(unknown, axes)));
    TRY(WriteFile(place / "shapes.jsonl", shapes));
    stub.folder = place;
  }
  return stub;
}

// The places of all marks: "summary", "inputs[2].shape[1]".
void FindMarks(const Json& value, const std::string& place, std::vector<std::string>* marks) {
  if (value.is_string() && value.as_string().starts_with(kFillIn)) marks->push_back(place);
  if (value.is_array()) {
    size_t number = 0;
    for (const Json& entry : value.array()) {
      FindMarks(entry, fmt::format("{}[{}]", place, ++number), marks);
    }
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.object()) {
      FindMarks(member, place.empty() ? key : place + "." + key, marks);
    }
  }
}

}  // namespace

Result<std::vector<Stub>> WriteStubs(const Aggregate& aggregate,
                                     std::span<const std::unique_ptr<const Operator>> operators,
                                     const fs::path& folder) {
  const FleetWeights weights = WeighAggregate(aggregate);
  if (weights.total == 0) {
    return Fail(ErrorKind::kInput, "the aggregate holds no GPU time: mine profiles with kernels");
  }
  std::vector<Stub> stubs;
  for (const Unknown& unknown : WithoutCard(weights, operators)) {
    stubs.push_back(TRY(WriteStub(unknown, folder)));
  }
  return stubs;
}

Result<void> RefuseStub(const Json& card, const fs::path& folder) {
  std::vector<std::string> marks;
  FindMarks(card, "", &marks);
  const bool is_stub = card.Find("stub") != nullptr;
  if (marks.empty() && !is_stub) return {};
  if (is_stub && !fs::exists(folder / "reference.py")) marks.emplace_back("reference.py");
  const std::string path = (folder / "operator.toml").string();
  if (marks.empty()) {
    return Fail(ErrorKind::kInput,
                path + ": nothing is left to fill in; delete the line `stub = true`");
  }
  return Fail(ErrorKind::kInput,
              fmt::format("{}: is a stub; still to fill in: {}{}", path, Join(marks, ", "),
                          is_stub ? "; then delete the line `stub = true`" : ""));
}

}  // namespace roofmark::suite
