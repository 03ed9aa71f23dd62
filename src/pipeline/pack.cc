// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pack.h"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "candidate/build.h"
#include "pipeline/pack_check.h"
#include "worker/python_files.h"

namespace roofmark::pipeline {
namespace {

constexpr std::string_view kReadme =
    R"(# A kernel for `{op}` in the lane `{lane}`

{summary}

Write one kernel that computes this on every shape of the contract, and be fast. What is here:

| file | says |
|---|---|
| `contract.json` | axes, inputs, outputs, attributes, and how far an output may be off |
| `reference.py` | what is right, in PyTorch, and the kind of inputs that a kernel is given |
| `shapes.jsonl` | the sizes, one shape a line; a list may be {{"rle": [[value, count]]}} |
| `rules.md` | entry points, what is allowed, how a kernel is judged |
{native}| `MANIFEST.json` | the hash of each file |

The sizes are those that count, but a kernel must be right for any. Values are drawn afresh for
every call.

This bundle carries the token {canary}. It must not appear in training data.
)";

constexpr std::string_view kNativeRow =
    "| `include/roofmark/` | the C header with the argument struct |\n";

bool IsNative(Lane lane) {
  return lane == Lane::kCpp || lane == Lane::kCuda;
}

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

std::string ReadmeText(const Operator& op, Lane lane, std::string_view canary) {
  return fmt::format(fmt::runtime(kReadme), fmt::arg("op", op.name),
                     fmt::arg("lane", LaneName(lane)), fmt::arg("summary", op.summary),
                     fmt::arg("native", IsNative(lane) ? kNativeRow : ""),
                     fmt::arg("canary", canary));
}

// What is not listed here (tier extras, released figures) is not public.
std::string ShapesText(const Operator& op) {
  std::string text;
  for (const Shape& shape : op.shapes) {
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

// For lines such as "from roofmark_ref import fp8".
Result<std::vector<BundleFile>> ImportedFiles(const std::string& reference) {
  constexpr std::string_view kImport = "from roofmark_ref import ";
  std::vector<BundleFile> files;
  for (const std::string_view line : Split(reference, '\n')) {
    if (!line.starts_with(kImport)) continue;
    if (files.empty()) {
      files.push_back({"roofmark_ref/__init__.py", TRY(ReferenceModule("__init__.py"))});
    }
    for (const std::string_view part : Split(line.substr(kImport.size()), ',')) {
      const std::string module = std::string(Trim(part)) + ".py";
      files.push_back({"roofmark_ref/" + module, TRY(ReferenceModule(module))});
    }
  }
  return files;
}

std::string ManifestText(const Operator& op, Lane lane, std::string_view canary,
                         const std::vector<BundleFile>& files) {
  Json hashes = Json::MakeObject();
  for (const BundleFile& file : files) hashes.Set(file.path, Sha256Hex(file.text));
  return Json::MakeObject()
             .Set("format", kBundleFormat)
             .Set("version", kVersion)
             .Set("operator", op.name)
             .Set("lane", LaneName(lane))
             .Set("canary", canary)
             .Set("files", std::move(hashes))
             .Dump(2) +
         "\n";
}

// 126 random bits; the prefix makes it easy to search for.
std::string MakeCanary() {
  return fmt::format("roofmark-canary-{:016x}{:016x}", RandomSeed(), RandomSeed());
}

std::string NowText() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

Result<void> RequireFree(const fs::path& folder) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder)) && !fs::is_empty(folder, error)) {
    return Fail(ErrorKind::kInput,
                folder.string() + ": is there already; remove it or name another folder with -o");
  }
  return {};
}

Result<void> PutInPlace(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::remove(to, error);  // an empty folder that the person made
  fs::rename(from, to, error);
  if (error) return Fail(ErrorKind::kIo, to.string() + ": cannot create: " + error.message());
  return {};
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

Result<std::vector<BundleFile>> MakeBundle(const Operator& op, Lane lane, std::string_view canary,
                                           const fs::path& data) {
  const std::string reference = TRY(ReadFile(op.folder / "reference.py"));
  const fs::path rules = data / "examples/lanes" / (std::string(LaneName(lane)) + ".md");
  std::vector<BundleFile> files = TRY(ImportedFiles(reference));
  files.push_back({"README.md", ReadmeText(op, lane, canary)});
  files.push_back({"contract.json", ReducedCard(op).Dump(2) + "\n"});
  files.push_back({"shapes.jsonl", ShapesText(op)});
  files.push_back({"reference.py", reference});
  files.push_back({"rules.md", TRY_IN(ReadFile(rules), "the rules of the lane")});
  if (IsNative(lane)) {
    files.push_back({"include/roofmark/abi.h", candidate::AbiHeader()});
    files.push_back({"include/roofmark/" + op.name + ".h", candidate::ContractHeader(op)});
  }
  files.push_back({std::string(kManifestName), ManifestText(op, lane, canary, files)});
  return files;
}

Result<PackedBundle> PackBundle(const Operator& op, Lane lane, const fs::path& folder,
                                const fs::path& data) {
  fs::path target = fs::absolute(folder).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  TRY(RequireFree(target));
  PackedBundle packed{
      .folder = target, .sidecar = target.string() + ".canary.json", .canary = MakeCanary()};
  // Beside the target, so that the last step is one rename.
  const fs::path staging = fmt::format("{}.{}.partial", target.string(), ::getpid());
  const std::vector<BundleFile> files = TRY(MakeBundle(op, lane, packed.canary, data));
  for (const BundleFile& file : files) TRY(WriteFile(staging / file.path, file.text));
  const Result<std::vector<Finding>> findings = CheckBundle(staging, {.data = data});
  if (!findings || !findings->empty()) {
    fs::remove_all(staging);
    if (!findings) return std::unexpected(findings.error());
    std::string list;
    for (const Finding& finding : *findings) list += "\n  " + FindingText(finding);
    return Fail(ErrorKind::kInput,
                fmt::format("{}: the bundle would show what is hidden; nothing was written:{}",
                            op.name, list));
  }
  TRY(WriteFile(packed.sidecar, Json::MakeObject()
                                        .Set("canary", packed.canary)
                                        .Set("operator", op.name)
                                        .Set("lane", LaneName(lane))
                                        .Set("created", NowText())
                                        .Set("manifest_sha256", Sha256Hex(files.back().text))
                                        .Dump(2) +
                                    "\n"));
  TRY(PutInPlace(staging, target));
  return packed;
}

}  // namespace roofmark::pipeline
