// SPDX-License-Identifier: Apache-2.0
#include "suite/card.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "suite/expression.h"
#include "suite/stub.h"

namespace roofmark::suite {
namespace {

// The names that expressions may use at some point of the card, and the lists that sums run over.
struct Names {
  std::set<std::string, std::less<>> scalars;
  std::set<std::string, std::less<>> lists;
  std::set<std::string, std::less<>> taken;  // these, and the tensors
};

Result<void> Take(const std::string& name, Names* names) {
  if (!IsUsableName(name)) {
    return Fail(ErrorKind::kInput,
                fmt::format("'{}' cannot be a name: letters, digits and underscores, and none of "
                            "ceil_div, ceil, min, max, log2, L, M",
                            name));
  }
  if (!names->taken.insert(name).second) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' is declared twice", name));
  }
  return {};
}

// Parses the text and checks that it names only scalars, or L and M inside a sum.
Result<void> CheckExpression(std::string_view text, const Names& names,
                             const std::vector<std::string_view>& entries = {}) {
  const Expression expression = TRY(Expression::Parse(text));
  for (const std::string& name : expression.names()) {
    if (names.scalars.contains(name)) continue;
    if (std::ranges::find(entries, name) != entries.end()) continue;
    if (names.lists.contains(name)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("'{}' names the list '{}'; sum it under [derived] with {{ over = "
                              "\"{}\", of = \"L\" }}",
                              text, name, name));
    }
    return Fail(ErrorKind::kInput, fmt::format("'{}' names '{}', which is not declared (known: {})",
                                               text, name, fmt::join(names.scalars, ", ")));
  }
  return {};
}

// A missing table reads as an empty one.
Result<Json::Object> TableOf(const Json& card, std::string_view key) {
  if (card.Find(key) == nullptr) return Json::Object{};
  return TRY(card.ObjectAt(key))->object();
}

Result<Json::Array> ListOf(const Json& card, std::string_view key) {
  if (card.Find(key) == nullptr) return Json::Array{};
  return TRY(card.ArrayAt(key))->array();
}

Result<void> ReadAxes(const Json& card, Names* names, Operator* op) {
  for (const auto& [name, kind] : TRY(TableOf(card, "axes"))) {
    TRY(Take(name, names));
    if (kind == Json("int")) {
      names->scalars.insert(name);
    } else if (kind == Json("list")) {
      names->lists.insert(name);
    } else {
      return Fail(ErrorKind::kInput, fmt::format("axis '{}' is {}; it must be \"int\" or \"list\"",
                                                 name, kind.Dump()));
    }
    op->axes.emplace_back(name, kind == Json("list"));
  }
  return {};
}

Result<void> ReadAttributes(const Json& card, Names* names, Operator* op) {
  for (const auto& [name, value] : TRY(TableOf(card, "attributes"))) {
    TRY(Take(name, names));
    if (!value.is_number()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("attribute '{}' is {}; it must be a number", name, value.Dump()));
    }
    names->scalars.insert(name);
    op->attributes.emplace_back(name, value.as_double());
  }
  return {};
}

Result<std::string> ReadList(const Json& table, std::string_view key, const Names& names) {
  const std::string list = TRY(table.String(key));
  if (!names.lists.contains(list)) {
    return Fail(ErrorKind::kInput, fmt::format("{} = '{}' is not a list axis (lists: {})", key,
                                               list, fmt::join(names.lists, ", ")));
  }
  return list;
}

Result<Formula> ReadFormula(const std::string& name, const Json& value, const Names& names) {
  Formula formula{.name = name};
  if (value.is_string()) {
    formula.expression = value.as_string();
    TRY(CheckExpression(formula.expression, names));
    return formula;
  }
  if (!value.is_object()) {
    return Fail(ErrorKind::kInput, fmt::format("{} is neither an expression nor {{ over = \"list\","
                                               " of = \"expression of L\" }}",
                                               value.Dump()));
  }
  TRY(value.AllowKeys({"over", "with", "of", "take"}));
  formula.over = TRY(ReadList(value, "over", names));
  formula.expression = TRY(value.String("of"));
  std::vector<std::string_view> entries = {"L"};
  if (value.Find("with") != nullptr) {
    formula.with = TRY(ReadList(value, "with", names));
    entries.push_back("M");
  }
  if (value.Find("take") != nullptr) {
    const std::string take = TRY(value.String("take"));
    if (take != "sum" && take != "max") {
      return Fail(ErrorKind::kInput, fmt::format("take = '{}' must be \"sum\" or \"max\"", take));
    }
    formula.take = take == "max" ? roofmark::Take::kMax : roofmark::Take::kSum;
  }
  TRY(CheckExpression(formula.expression, names, entries));
  return formula;
}

Result<void> ReadDerived(const Json& card, Names* names, Operator* op) {
  for (const auto& [name, value] : TRY(TableOf(card, "derived"))) {
    TRY(Take(name, names));
    op->derived.push_back(
        TRY_IN(ReadFormula(name, value, *names), fmt::format("[derived] {}", name)));
    names->scalars.insert(name);
  }
  return {};
}

Result<Residency> ReadResidency(const Json& table) {
  if (table.Find("residency") == nullptr) return Residency::kCold;
  const std::string text = TRY(table.String("residency"));
  if (text == "cold") return Residency::kCold;
  if (text == "warm") return Residency::kWarm;
  return Fail(ErrorKind::kInput,
              fmt::format("residency = '{}' must be \"cold\" or \"warm\"", text));
}

// "bf16", or { axis = "half_type", of = ["bf16", "f16"] } where the shape chooses.
Result<void> ReadDType(const Json& table, const Names& names, TensorSpec* spec) {
  const Json* const choice = table.Find("dtype");
  if (choice == nullptr || !choice->is_object()) {
    spec->dtype = TRY(ParseDType(TRY(table.String("dtype"))));
    return {};
  }
  TRY_IN(choice->AllowKeys({"axis", "of"}), "dtype");
  spec->dtype_axis = TRY_IN(choice->String("axis"), "dtype");
  if (!names.scalars.contains(spec->dtype_axis)) {
    return Fail(ErrorKind::kInput, fmt::format("dtype: axis = '{}' is not declared (known: {})",
                                               spec->dtype_axis, fmt::join(names.scalars, ", ")));
  }
  for (const Json& name : TRY_IN(choice->ArrayAt("of"), "dtype")->array()) {
    if (!name.is_string()) return Fail(ErrorKind::kInput, "dtype: `of` lists names of types");
    spec->dtypes.push_back(TRY(ParseDType(name.as_string())));
  }
  if (spec->dtypes.empty()) return Fail(ErrorKind::kInput, "dtype: `of` is empty");
  spec->dtype = spec->dtypes.front();
  return {};
}

Result<bool> ReadFlag(const Json& table, std::string_view key) {
  const Json* const value = table.Find(key);
  if (value == nullptr) return false;
  if (!value->is_bool()) {
    return Fail(ErrorKind::kInput, fmt::format("{} must be true or false", key));
  }
  return value->as_bool();
}

Result<TensorSpec> ReadTensor(const Json& table, Names* names) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  TRY(table.AllowKeys({"name", "dtype", "shape", "residency", "in_place"}));
  TensorSpec spec;
  spec.name = TRY(table.String("name"));
  spec.in_place = TRY(ReadFlag(table, "in_place"));
  if (!spec.in_place) TRY(Take(spec.name, names));
  TRY(ReadDType(table, *names, &spec));
  spec.residency = TRY(ReadResidency(table));
  for (const Json& size : TRY(table.ArrayAt("shape"))->array()) {
    if (!size.is_string() && !size.is_int()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("size {} is neither an expression nor a number", size.Dump()));
    }
    spec.sizes.push_back(size.is_string() ? size.as_string() : size.Dump());
    TRY_IN(CheckExpression(spec.sizes.back(), *names), "shape");
  }
  return spec;
}

Result<std::vector<TensorSpec>> ReadTensors(const Json& card, std::string_view key, Names* names) {
  std::vector<TensorSpec> specs;
  for (const Json& table : TRY(ListOf(card, key))) {
    specs.push_back(
        TRY_IN(ReadTensor(table, names), fmt::format("[[{}]] number {}", key, specs.size() + 1)));
  }
  if (specs.empty()) return Fail(ErrorKind::kInput, fmt::format("[[{}]] is missing", key));
  return specs;
}

// An in-place output is the input of its name, so both must say the same of it.
Result<void> CheckInPlace(const Operator& op) {
  for (const TensorSpec& input : op.inputs) {
    if (input.in_place) {
      return Fail(ErrorKind::kInput,
                  fmt::format("[[inputs]] {}: in_place is said at the output", input.name));
    }
  }
  std::set<std::string_view> seen;
  for (const TensorSpec& output : op.outputs) {
    if (!output.in_place) continue;
    const auto input = std::ranges::find(op.inputs, output.name, &TensorSpec::name);
    if (input == op.inputs.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("[[outputs]] {} is in place, but no input has its name; the input "
                              "is what it holds before the call",
                              output.name));
    }
    if (!seen.insert(output.name).second) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' is declared twice", output.name));
    }
    if (input->sizes != output.sizes || input->dtype != output.dtype ||
        input->dtypes != output.dtypes || input->dtype_axis != output.dtype_axis) {
      return Fail(ErrorKind::kInput,
                  fmt::format("[[outputs]] {} is in place, so its dtype and shape must be those of "
                              "the input",
                              output.name));
    }
  }
  return {};
}

// A claim about work or traffic is worth what its reason is worth, so the reason is not optional.
Result<std::string> ReadSource(const Json& table) {
  const std::string source = TRY(table.String("source"));
  if (source.empty()) return Fail(ErrorKind::kInput, "source is empty; say where this comes from");
  return source;
}

Result<WorkTerm> ReadWorkTerm(const Json& table, const Names& names) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  TRY(table.AllowKeys({"engine", "ops", "source"}));
  WorkTerm term{.engine = TRY(ParseEngine(TRY(table.String("engine")))),
                .ops = TRY(table.String("ops")),
                .source = TRY(ReadSource(table))};
  TRY_IN(CheckExpression(term.ops, names), "ops");
  return term;
}

Result<void> ReadRoofline(const Json& card, const Names& names, Operator* op) {
  for (const Json& table : TRY(ListOf(card, "work"))) {
    op->work.push_back(
        TRY_IN(ReadWorkTerm(table, names), fmt::format("[[work]] number {}", op->work.size() + 1)));
  }
  const Json& traffic = *TRY(card.ObjectAt("traffic"));
  TRY_IN(traffic.AllowKeys({"read", "write", "source"}), "[traffic]");
  op->read_bytes = TRY_IN(traffic.String("read"), "[traffic]");
  op->write_bytes = TRY_IN(traffic.String("write"), "[traffic]");
  TRY_IN(ReadSource(traffic), "[traffic]");
  TRY_IN(CheckExpression(op->read_bytes, names), "[traffic] read");
  TRY_IN(CheckExpression(op->write_bytes, names), "[traffic] write");
  return {};
}

// released_work = "draw" where the released figure followed from one draw of values.
Result<bool> ReadDrawn(const Json& table, const std::string& key) {
  const std::string drawn = "released_" + key;
  if (table.Find(drawn) == nullptr) return false;
  const std::string text = TRY(table.String(drawn));
  if (text != "draw") {
    return Fail(ErrorKind::kInput, fmt::format("{} = '{}' can only be \"draw\"", drawn, text));
  }
  if (table.Find(key) != nullptr) {
    return Fail(ErrorKind::kInput, fmt::format("{} is a draw, so {} has no formula", drawn, key));
  }
  return true;
}

// A missing formula means that the release has the same one as ours.
Result<void> ReadPublished(const Json& card, const Names& names, Operator* op) {
  if (card.Find("published") == nullptr) return {};
  const Json& table = *TRY(card.ObjectAt("published"));
  TRY(table.AllowKeys(
      {"work", "read", "write", "differs", "released_work", "released_read", "released_write"}));
  op->published.work_drawn = TRY(ReadDrawn(table, "work"));
  op->published.read_drawn = TRY(ReadDrawn(table, "read"));
  op->published.write_drawn = TRY(ReadDrawn(table, "write"));
  for (const auto& [dtype, formula] : TRY(TableOf(table, "work"))) {
    if (!formula.is_string()) {
      return Fail(ErrorKind::kInput, fmt::format("work.{} must be an expression", dtype));
    }
    TRY_IN(CheckExpression(formula.as_string(), names), fmt::format("work.{}", dtype));
    op->published.work[dtype] = formula.as_string();
  }
  op->published.read = op->read_bytes;
  op->published.write = op->write_bytes;
  if (table.Find("read") != nullptr) op->published.read = TRY(table.String("read"));
  if (table.Find("write") != nullptr) op->published.write = TRY(table.String("write"));
  TRY_IN(CheckExpression(op->published.read, names), "read");
  TRY_IN(CheckExpression(op->published.write, names), "write");
  // Where the release has our formulas, there is nothing to explain.
  const PublishedFormulas& released = op->published;
  const bool alike = released.work.empty() && released.read == op->read_bytes &&
                     released.write == op->write_bytes && !released.work_drawn &&
                     !released.read_drawn && !released.write_drawn;
  if (!alike || table.Find("differs") != nullptr) {
    op->published.differs = TRY(table.String("differs"));
  }
  return {};
}

Result<double> ReadBound(const Json& table, std::string_view key, double largest) {
  const double value = TRY(table.Double(key));
  if (!(value >= 0 && value <= largest)) {
    return Fail(ErrorKind::kInput,
                fmt::format("{} = {} must be from 0 to {}", key, value, largest));
  }
  return value;
}

Result<Tolerance> ReadTolerance(const Json& table) {
  if (!table.is_object()) return Fail(ErrorKind::kInput, "must be a table");
  const std::string kind = TRY(table.String("kind"));
  Tolerance tolerance;
  if (kind == "exact") {
    TRY(table.AllowKeys({"kind"}));
    tolerance.kind = CompareKind::kExact;
  } else if (kind == "grouped") {
    TRY(table.AllowKeys({"kind", "offsets", "labels"}));
    tolerance.kind = CompareKind::kGrouped;
    tolerance.group_by = table.Find("labels") != nullptr ? GroupBy::kLabels : GroupBy::kOffsets;
    tolerance.groups =
        TRY(table.String(tolerance.group_by == GroupBy::kLabels ? "labels" : "offsets"));
  } else if (kind == "codes") {
    TRY(table.AllowKeys({"kind", "code_slack"}));
    tolerance.kind = CompareKind::kCodes;
    tolerance.code_slack = TRY(ReadBound(table, "code_slack", 1));
  } else if (kind == "numeric") {
    TRY(table.AllowKeys({"kind", "rtol", "atol_rms", "rel_l2"}));
    tolerance.rtol = TRY(ReadBound(table, "rtol", 1));
    tolerance.atol_rms = TRY(ReadBound(table, "atol_rms", 1));
    tolerance.rel_l2 = TRY(ReadBound(table, "rel_l2", 1));
  } else {
    return Fail(
        ErrorKind::kInput,
        fmt::format("kind = '{}' must be \"numeric\", \"exact\", \"codes\" or \"grouped\"", kind));
  }
  return tolerance;
}

bool IsWhole(DType dtype) {
  return dtype == DType::kI32 || dtype == DType::kI64;
}

Result<void> CheckGroups(const Operator& op, const TensorSpec& output) {
  const Tolerance& tolerance = op.tolerance.find(output.name)->second;
  if (tolerance.kind != CompareKind::kGrouped) return {};
  const auto groups = std::ranges::find(op.outputs, tolerance.groups, &TensorSpec::name);
  if (groups == op.outputs.end() || groups->name == output.name) {
    return Fail(ErrorKind::kInput,
                fmt::format("groups come from another output, and '{}' is none", tolerance.groups));
  }
  if (!IsWhole(output.dtype) || !IsWhole(groups->dtype)) {
    return Fail(ErrorKind::kInput, "grouped comparison is for i32 and i64");
  }
  return {};
}

Result<void> ReadTolerances(const Json& card, Operator* op) {
  for (const auto& [output, table] : TRY(TableOf(card, "tolerance"))) {
    if (std::ranges::find(op->outputs, output, &TensorSpec::name) == op->outputs.end()) {
      return Fail(ErrorKind::kInput, fmt::format("[tolerance.{}] belongs to no output", output));
    }
    op->tolerance[output] = TRY_IN(ReadTolerance(table), fmt::format("[tolerance.{}]", output));
  }
  for (const TensorSpec& output : op->outputs) {
    if (!op->tolerance.contains(output.name)) {
      return Fail(ErrorKind::kInput, fmt::format("[tolerance.{}] is missing", output.name));
    }
    TRY_IN(CheckGroups(*op, output), fmt::format("[tolerance.{}]", output.name));
  }
  return {};
}

}  // namespace

Result<Operator> ParseCard(const Json& card) {
  if (!card.is_object()) return Fail(ErrorKind::kInput, "a card must be a table");
  TRY(card.AllowKeys({"name", "summary", "source", "weight_published", "axes", "derived",
                      "attributes", "inputs", "outputs", "work", "traffic", "published",
                      "tolerance", "variant_of"}));
  Operator op;
  op.name = TRY(card.String("name"));
  if (!IsUsableName(op.name)) {
    return Fail(ErrorKind::kInput,
                fmt::format("name = '{}' must be letters, digits and underscores", op.name));
  }
  op.summary = TRY(card.String("summary"));
  op.source = TRY(ReadSource(card));
  if (card.Find("weight_published") != nullptr) {
    op.weight_published = TRY(ReadBound(card, "weight_published", 1));
  }
  if (card.Find("variant_of") != nullptr) op.variant_of = TRY(card.String("variant_of"));
  Names names;
  TRY_IN(ReadAxes(card, &names, &op), "[axes]");
  TRY_IN(ReadAttributes(card, &names, &op), "[attributes]");
  TRY(ReadDerived(card, &names, &op));
  op.inputs = TRY(ReadTensors(card, "inputs", &names));
  op.outputs = TRY(ReadTensors(card, "outputs", &names));
  TRY(CheckInPlace(op));
  TRY(ReadRoofline(card, names, &op));
  TRY_IN(ReadPublished(card, names, &op), "[published]");
  TRY(ReadTolerances(card, &op));
  return op;
}

Result<Operator> ReadOperator(const std::filesystem::path& folder) {
  const fs::path card_path = folder / "operator.toml";
  const Json card = TRY(ReadToml(card_path));
  TRY(RefuseStub(card, folder));
  Operator op = TRY_IN(ParseCard(card), card_path.string());
  const std::string folder_name = fs::absolute(folder).lexically_normal().filename().string();
  if (op.name != folder_name && !folder_name.empty()) {
    return Fail(ErrorKind::kInput, fmt::format("{}: name = '{}' must be the folder's name, '{}'",
                                               card_path.string(), op.name, folder_name));
  }
  op.folder = folder;
  const fs::path shapes_path = folder / "shapes.jsonl";
  std::set<std::string> ids;
  for (const Json& line : TRY(ReadJsonLines(shapes_path))) {
    const Json* id = line.Find("id");
    const std::string place = fmt::format("{}: shape {}", shapes_path.string(),
                                          id != nullptr ? id->Dump() : "without id");
    Shape shape = TRY_IN(ParseShape(line, op), place);
    if (!ids.insert(shape.id).second) {
      return Fail(ErrorKind::kInput, fmt::format("{}: the id is used twice", place));
    }
    op.shapes.push_back(std::move(shape));
  }
  if (op.shapes.empty()) {
    return Fail(ErrorKind::kInput, fmt::format("{}: there is no shape", shapes_path.string()));
  }
  return op;
}

}  // namespace roofmark::suite
