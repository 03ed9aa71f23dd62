// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pack.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "candidate/build.h"
#include "pipeline/folder_output_internal.h"
#include "pipeline/pack_alias_internal.h"
#include "pipeline/pack_check.h"
#include "pipeline/pack_parts_internal.h"

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
{native}| `check` | `./check my_kernel` says whether it compiles and is right |
| `MANIFEST.json` | the hash of each file |

The sizes are those that count, but a kernel must be right for any. Values are drawn afresh for
every call.

This bundle carries the token {canary}. It must not appear in training data.
)";

constexpr std::string_view kNativeRow =
    "| `include/roofmark/` | the C header with the argument struct |\n";

// Only names that say nothing about this machine: the bundle is read elsewhere.
constexpr std::string_view kCheckScript = R"sh(#!/bin/sh
# Does a kernel compile, and is it right? Says outcome and reason of each shape, and how fast it is
# to nobody.
#   ./check my_kernel.cc [--shape ID] [--all] [--device cuda]
# Runs the program roofmark: $ROOFMARK, or the one beside this folder, or the one on PATH.
here=$(cd "$(dirname "$0")" && pwd) || exit 3
for roofmark in "$ROOFMARK" "$here/../roofmark" "$(command -v roofmark)"; do
  if [ -f "$roofmark" ] && [ -x "$roofmark" ]; then exec "$roofmark" check "$here" "$@"; fi
done
echo "check: no program roofmark; name it in ROOFMARK or put it beside the bundle" >&2
exit 3
)sh";

std::string ReadmeText(const Operator& op, Lane lane, std::string_view canary) {
  return fmt::format(fmt::runtime(kReadme), fmt::arg("op", op.name),
                     fmt::arg("lane", LaneName(lane)), fmt::arg("summary", op.summary),
                     fmt::arg("native", IsNative(lane) ? kNativeRow : ""),
                     fmt::arg("canary", canary));
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

// A name that another operator has would be taken for that one.
Result<void> RequireUsable(const Operator& op, const std::string& alias, const fs::path& data) {
  if (alias.empty()) return {};
  bool known = fs::exists(data / "operators" / alias);
  for (const fs::path& folder : TRY(OperatorFolders())) known |= fs::exists(folder / alias);
  return CheckAlias(op, alias, known);
}

Json SidecarOf(const Operator& op, const BundleSpec& spec, const std::string& manifest) {
  Json sidecar = Json::MakeObject();
  sidecar.Set("canary", spec.canary).Set("operator", op.name);
  if (!spec.alias.empty()) sidecar.Set("alias", spec.alias);
  sidecar.Set("lane", LaneName(spec.lane)).Set("created", NowText());
  sidecar.Set("manifest_sha256", Sha256Hex(manifest));
  return sidecar;
}

}  // namespace

Result<std::vector<BundleFile>> MakeBundle(const Operator& op, const BundleSpec& spec,
                                           const fs::path& data) {
  TRY(RefuseImported(op));
  const Lane lane = spec.lane;
  const std::vector<std::string> names = NamesBehind(op);
  const auto rename = [&](std::string_view text) {
    return spec.alias.empty() ? std::string(text) : Renamed(text, names, spec.alias);
  };
  Operator shown = op;
  if (!spec.alias.empty()) shown.name = spec.alias;
  shown.summary = rename(op.summary);
  const std::string reference = TRY(ReadFile(op.folder / "reference.py"));
  const fs::path rules = data / "examples/lanes" / (std::string(LaneName(lane)) + ".md");
  std::vector<BundleFile> files;
  for (const BundleFile& module : TRY(ImportedModules(reference))) {
    files.push_back({.path = rename(module.path), .text = rename(module.text)});
  }
  files.push_back({.path = "README.md", .text = ReadmeText(shown, lane, spec.canary)});
  files.push_back({.path = "check", .text = std::string(kCheckScript), .executable = true});
  files.push_back({.path = "contract.json", .text = ContractText(shown)});
  files.push_back({.path = "shapes.jsonl", .text = PublicShapesText(shown)});
  files.push_back({.path = "reference.py", .text = rename(reference)});
  files.push_back({.path = "rules.md", .text = TRY_IN(ReadFile(rules), "the rules of the lane")});
  if (IsNative(lane)) {
    files.push_back({.path = "include/roofmark/abi.h", .text = candidate::AbiHeader()});
    files.push_back({.path = "include/roofmark/" + shown.name + ".h",
                     .text = candidate::ContractHeader(shown)});
  }
  files.push_back(
      {.path = std::string(kManifestName), .text = ManifestText(shown, lane, spec.canary, files)});
  return files;
}

Result<PackedBundle> PackBundle(const Operator& op, BundleSpec spec, const fs::path& folder,
                                const fs::path& data) {
  const fs::path target = TargetFolder(folder);
  TRY(RequireFree(target));
  TRY(RequireUsable(op, spec.alias, data));
  spec.canary = MakeCanary();
  PackedBundle packed{
      .folder = target, .sidecar = target.string() + ".canary.json", .canary = spec.canary};
  const std::vector<BundleFile> files = TRY(MakeBundle(op, spec, data));
  const fs::path staging = TRY(StageBeside(target, files));
  const Result<std::vector<Finding>> findings =
      CheckBundle(staging, {.data = data, .operator_folder = op.folder});
  if (!findings || !findings->empty()) {
    fs::remove_all(staging);
    if (!findings) return std::unexpected(findings.error());
    std::string list;
    for (const Finding& finding : *findings) list += "\n  " + FindingText(finding);
    return Fail(ErrorKind::kInput,
                fmt::format("{}: the bundle would show what is hidden; nothing was written:{}",
                            op.name, list));
  }
  TRY(WriteFile(packed.sidecar, SidecarOf(op, spec, files.back().text).Dump(2) + "\n"));
  TRY(PutInPlace(staging, target));
  return packed;
}

}  // namespace roofmark::pipeline
