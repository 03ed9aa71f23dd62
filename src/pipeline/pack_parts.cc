// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "pipeline/pack_parts_internal.h"
#include "worker/python_files.h"

namespace roofmark::pipeline {
namespace {

constexpr std::string_view kPackage = "roofmark_ref";

Json DTypeToJson(const TensorSpec& tensor) {
  if (tensor.dtype_axis.empty()) return DTypeName(tensor.dtype);
  Json of = Json::MakeArray();
  for (const DType dtype : tensor.dtypes) of.Push(DTypeName(dtype));
  return Json::MakeObject().Set("axis", tensor.dtype_axis).Set("of", std::move(of));
}

Json TensorsToJson(const std::vector<TensorSpec>& tensors) {
  Json list = Json::MakeArray();
  for (const TensorSpec& tensor : tensors) {
    Json sizes = Json::MakeArray();
    for (const std::string& size : tensor.sizes) sizes.Push(size);
    Json row = Json::MakeObject()
                   .Set("name", tensor.name)
                   .Set("dtype", DTypeToJson(tensor))
                   .Set("shape", std::move(sizes))
                   .Set("residency", tensor.residency == Residency::kCold ? "cold" : "warm");
    if (tensor.in_place) row.Set("in_place", true);
    list.Push(std::move(row));
  }
  return list;
}

Json FormulaToJson(const Formula& formula) {
  if (formula.over.empty()) return formula.expression;
  Json fold = Json::MakeObject().Set("over", formula.over);
  if (!formula.with.empty()) fold.Set("with", formula.with);
  fold.Set("of", formula.expression);
  if (formula.take == Take::kMax) fold.Set("take", "max");
  return fold;
}

Json ToleranceToJson(const Tolerance& tolerance) {
  switch (tolerance.kind) {
    case CompareKind::kExact:
      return Json::MakeObject().Set("kind", "exact");
    case CompareKind::kCodes:
      return Json::MakeObject().Set("kind", "codes").Set("code_slack", tolerance.code_slack);
    case CompareKind::kGrouped:
      return Json::MakeObject()
          .Set("kind", "grouped")
          .Set(tolerance.group_by == GroupBy::kLabels ? "labels" : "offsets", tolerance.groups);
    case CompareKind::kNumeric:
      break;
  }
  return Json::MakeObject()
      .Set("kind", "numeric")
      .Set("rtol", tolerance.rtol)
      .Set("atol_rms", tolerance.atol_rms)
      .Set("rel_l2", tolerance.rel_l2);
}

// The text of a module of ours that references may import, as their worker has it.
Result<std::string> ReferenceModule(const std::string& name) {
  std::vector<worker::TreeEntry> tree;
  worker::AddPythonFiles(worker::PythonAudience::kReference, &tree);
  for (const worker::TreeEntry& entry : tree) {
    if (entry.target.ends_with("/roofmark_ref/" + name)) return entry.text;
  }
  return Fail(ErrorKind::kInput,
              "reference.py imports roofmark_ref/" + name + ", which is not there");
}

std::string_view FirstWord(std::string_view text) {
  text = Trim(text);
  return text.substr(0, text.find_first_of(" ,;#"));
}

// Modules that one line imports: "from roofmark_ref import a, b as c", "from roofmark_ref.a import
// x", "import roofmark_ref.a".
std::vector<std::string> ModulesOfLine(std::string_view line) {
  std::vector<std::string> modules;
  line = Trim(line);
  const bool from = line.starts_with("from ");
  if (!from && !line.starts_with("import ")) return modules;
  const std::string_view rest = Trim(line.substr(line.find(' ')));
  if (!rest.starts_with(kPackage)) return modules;
  const std::string_view after = rest.substr(kPackage.size());
  if (after.starts_with('.')) {
    modules.emplace_back(FirstWord(after.substr(1)));
  } else if (from && Trim(after).starts_with("import ")) {
    for (const std::string_view part : Split(Trim(after).substr(7), ',')) {
      modules.emplace_back(FirstWord(part));
    }
  }
  return modules;
}

}  // namespace

Json ReducedCard(const Operator& op) {
  Json axes = Json::MakeObject();
  Json derived = Json::MakeObject();
  Json attributes = Json::MakeObject();
  Json tolerance = Json::MakeObject();
  for (const auto& [name, is_list] : op.axes) axes.Set(name, is_list ? "list" : "int");
  for (const Formula& formula : op.derived) derived.Set(formula.name, FormulaToJson(formula));
  for (const auto& [name, value] : op.attributes) attributes.Set(name, value);
  for (const auto& [name, bounds] : op.tolerance) tolerance.Set(name, ToleranceToJson(bounds));
  return Json::MakeObject()
      .Set("name", op.name)
      .Set("summary", op.summary)
      .Set("axes", std::move(axes))
      .Set("derived", std::move(derived))
      .Set("attributes", std::move(attributes))
      .Set("inputs", TensorsToJson(op.inputs))
      .Set("outputs", TensorsToJson(op.outputs))
      .Set("tolerance", std::move(tolerance));
}

Result<void> RefuseImported(const Operator& op) {
  if (!fs::exists(op.folder / "import.json")) return {};
  return Fail(ErrorKind::kInput,
              fmt::format("{}: an imported operator is in no bundle and no release: its reference "
                          "needs the files that it came from (origin/), and what these show cannot "
                          "be searched for",
                          op.name));
}

std::string ContractText(const Operator& op) {
  return ReducedCard(op).Dump(2) + "\n";
}

std::string PublicShapesText(const Operator& op) {
  std::string text;
  for (const Shape& shape : op.shapes) {
    if (shape.hidden) continue;
    text += Json::MakeObject()
                .Set("id", shape.id)
                .Set("tier", TierName(shape.tier))
                .Set("phase", PhaseName(shape.phase))
                .Set("axes", AxesToJson(shape.axes))
                .Dump();
    text += '\n';
  }
  return text;
}

Result<std::vector<BundleFile>> ImportedModules(const std::string& reference) {
  std::vector<BundleFile> files;
  std::set<std::string> seen;
  std::vector<std::string> unread = {reference};
  while (!unread.empty()) {
    const std::string text = std::move(unread.back());
    unread.pop_back();
    for (const std::string_view line : Split(text, '\n')) {
      for (const std::string& module : ModulesOfLine(line)) {
        if (!seen.insert(module).second) continue;
        unread.push_back(TRY(ReferenceModule(module + ".py")));
        files.push_back({.path = "roofmark_ref/" + module + ".py", .text = unread.back()});
      }
    }
  }
  if (!files.empty()) {
    files.push_back(
        {.path = "roofmark_ref/__init__.py", .text = TRY(ReferenceModule("__init__.py"))});
  }
  std::ranges::sort(files, {}, &BundleFile::path);
  return files;
}

}  // namespace roofmark::pipeline
