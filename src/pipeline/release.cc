// SPDX-License-Identifier: Apache-2.0
#include "pipeline/release.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/version.h"
#include "pipeline/folder_output_internal.h"
#include "pipeline/pack_hidden_internal.h"
#include "pipeline/pack_scan_internal.h"
#include "pipeline/release_parts_internal.h"

namespace roofmark::pipeline {
namespace {

constexpr std::string_view kPublic = "public/";
constexpr std::string_view kHidden = "hidden/";
constexpr uint64_t kLargestFile = uint64_t{256} << 20;

using Hashes = std::map<std::string, std::string>;  // SHA-256 by path, sorted

// What MANIFEST.json says.
struct Manifest {
  std::string suite;
  Version version;
  Version contents_since;  // the version that brought all but the weights
  std::string date;
  size_t operators = 0;
  size_t workloads = 0;
  Hashes files;
};

std::string PartHash(const Hashes& files, std::string_view part) {
  std::string lines;
  for (const auto& [path, hash] : files) {
    if (path.starts_with(part)) lines += fmt::format("{}  {}\n", hash, path);
  }
  return Sha256Hex(lines);
}

std::string ManifestText(const Manifest& manifest) {
  Json files = Json::MakeObject();
  for (const auto& [path, hash] : manifest.files) files.Set(path, hash);
  return Json::MakeObject()
             .Set("format", kReleaseFormat)
             .Set("suite", manifest.suite)
             .Set("version", VersionText(manifest.version))
             .Set("contents_since", VersionText(manifest.contents_since))
             .Set("date", manifest.date)
             .Set("program", kVersion)
             .Set("operators", static_cast<int64_t>(manifest.operators))
             .Set("workloads", static_cast<int64_t>(manifest.workloads))
             .Set("public_sha256", PartHash(manifest.files, kPublic))
             .Set("hidden_sha256", PartHash(manifest.files, kHidden))
             .Set("files", std::move(files))
             .Dump(2) +
         "\n";
}

// A path of the manifest must stay in the release.
bool IsPlainPath(const std::string& path) {
  const fs::path plain = fs::path(path).lexically_normal();
  return (path.starts_with(kPublic) || path.starts_with(kHidden)) && plain == path;
}

Result<Manifest> ParseManifest(const Json& json) {
  if (!json.is_object()) return Fail(ErrorKind::kInput, "is not an object");
  TRY(json.AllowKeys({"format", "suite", "version", "contents_since", "date", "program",
                      "operators", "workloads", "public_sha256", "hidden_sha256", "files"}));
  if (TRY(json.String("format")) != kReleaseFormat) {
    return Fail(ErrorKind::kInput, fmt::format("is not of format {}", kReleaseFormat));
  }
  Manifest manifest{.suite = TRY(json.String("suite")),
                    .version = TRY(ParseVersion(TRY(json.String("version")))),
                    .contents_since = TRY(ParseVersion(TRY(json.String("contents_since")))),
                    .date = TRY(json.String("date")),
                    .operators = static_cast<size_t>(TRY(json.Int("operators"))),
                    .workloads = static_cast<size_t>(TRY(json.Int("workloads")))};
  for (const auto& [path, hash] : TRY(json.ObjectAt("files"))->object()) {
    if (!hash.is_string() || !IsPlainPath(path)) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' is no file of a release", path));
    }
    manifest.files[path] = hash.as_string();
  }
  for (const auto& [key, part] :
       {std::pair{"public_sha256", kPublic}, {"hidden_sha256", kHidden}}) {
    if (TRY(json.String(key)) != PartHash(manifest.files, part)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{} is not the hash of the files that it lists", key));
    }
  }
  return manifest;
}

Result<Manifest> ReadManifest(const fs::path& folder) {
  const fs::path path = folder / kManifestName;
  if (!fs::exists(path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{}: no {} in it, so this is no release; `roofmark suite release` "
                            "writes one",
                            folder.string(), kManifestName));
  }
  return TRY_IN(ParseManifest(TRY(ReadJson(path))), path.string());
}

Release ReleaseOf(const Manifest& manifest, const fs::path& folder) {
  return {.folder = folder,
          .version = manifest.version,
          .suite = manifest.suite,
          .operators = manifest.operators,
          .workloads = manifest.workloads,
          .public_sha256 = PartHash(manifest.files, kPublic),
          .hidden_sha256 = PartHash(manifest.files, kHidden)};
}

std::map<std::string, std::string> TextsOf(const std::vector<BundleFile>& files) {
  std::map<std::string, std::string> texts;
  for (const BundleFile& file : files) texts[file.path] = file.text;
  return texts;
}

std::string ListOf(const std::vector<Finding>& findings) {
  std::string list;
  for (const Finding& finding : findings) list += "\n  " + FindingText(finding);
  return list;
}

// All files of a release but the manifest. Modules and headers that several operators share are
// there once.
Result<std::vector<BundleFile>> MakeFiles(const suite::Suite& suite, const Version& version,
                                          const std::string& date, const fs::path& data,
                                          size_t* operators) {
  std::map<std::string, std::string> texts;
  const std::vector<BundleFile> lanes = TRY(LaneFiles(data));
  std::vector<Finding> findings;
  for (const auto& op : suite.operators) {
    if (std::ranges::find(suite.workloads, op.get(), &Workload::op) == suite.workloads.end()) {
      continue;
    }
    ++*operators;
    const Operator released = ReleasedOperator(*op, suite);
    std::vector<BundleFile> shown = TRY(PublicFiles(released));
    shown.insert(shown.end(), lanes.begin(), lanes.end());
    const Hidden hidden = TRY(CollectHidden(released, data / "devices"));
    std::ranges::move(ScanForHidden(TextsOf(shown), hidden, shown), std::back_inserter(findings));
    texts.merge(TextsOf(shown));
    texts.merge(TextsOf(TRY(HiddenFiles(*op))));
  }
  if (!findings.empty()) {
    return Fail(
        ErrorKind::kInput,
        "the public part would show what is hidden; nothing was written:" + ListOf(findings));
  }
  std::vector<std::string> ids;
  for (const Workload& workload : suite.workloads) ids.push_back(workload.Id());
  texts[std::string(kWorkloadsFile)] = WorkloadsText(suite);
  texts[std::string(kWeightsFile)] = WeightsText(suite, ids, version, date);
  std::vector<BundleFile> files;
  for (auto& [path, text] : texts) files.push_back({.path = path, .text = std::move(text)});
  return files;
}

// Files as they are; whatever is not there or differs is a finding.
Result<std::vector<Finding>> CompareFiles(const fs::path& folder, const Manifest& manifest) {
  std::vector<Finding> findings;
  const bool hidden_is_here = fs::exists(folder / kHidden);
  for (const auto& [path, hash] : manifest.files) {
    if (path.starts_with(kHidden) && !hidden_is_here) continue;
    if (!fs::is_regular_file(fs::symlink_status(folder / path))) {
      findings.push_back({path, 0, "is missing"});
    } else if (Sha256Hex(TRY(ReadFile(folder / path, kLargestFile))) != hash) {
      findings.push_back({path, 0, "is not the file whose hash the manifest holds"});
    }
  }
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const std::string path = it->path().lexically_relative(folder).generic_string();
    if (it->is_directory() && !it->is_symlink()) continue;
    if (path != kManifestName && !manifest.files.contains(path)) {
      findings.push_back({path, 0, "is no file of the release"});
    }
  }
  if (error) return Fail(ErrorKind::kIo, folder.string() + ": " + error.message());
  return findings;
}

// The operator with the shapes that the release has of it; figures of others occur in any text by
// chance. With all of them where the release does not tell.
Result<Operator> AsReleased(const Operator& op, const fs::path& folder) {
  std::set<std::string> ids;
  const fs::path shown = folder / "public/operators" / op.name / "shapes.jsonl";
  if (fs::exists(shown)) {
    for (const Json& line : TRY(ReadJsonLines(shown))) ids.insert(TRY(line.String("id")));
  }
  const fs::path workloads = folder / kWorkloadsFile;
  if (fs::exists(workloads)) {
    for (const Json& line : TRY(ReadJsonLines(workloads))) {
      const std::string id = TRY(line.String("workload"));
      if (id.starts_with(op.name + "/")) ids.insert(id.substr(op.name.size() + 1));
    }
  }
  Operator released = op;
  if (ids.empty()) return released;
  std::erase_if(released.shapes, [&](const Shape& shape) { return !ids.contains(shape.id); });
  return released;
}

// What of the public part belongs to the operator: what was searched when it was written.
Result<std::vector<BundleFile>> ShownOf(const Operator& op, const fs::path& folder,
                                        const Manifest& manifest) {
  const std::map<std::string, std::string> own = TextsOf(TRY(PublicFiles(op)));
  std::vector<BundleFile> shown;
  for (const auto& [path, unused] : manifest.files) {
    if (!own.contains(path) && !path.starts_with("public/lanes/")) continue;
    if (!fs::is_regular_file(fs::symlink_status(folder / path))) continue;
    shown.push_back({.path = path, .text = TRY(ReadFile(folder / path, kLargestFile))});
  }
  return shown;
}

// Public files that are no part of a release, and operators that are not known here: what is hidden
// of them cannot be searched for, so their presence is a finding.
std::vector<Finding> UnknownParts(const Manifest& manifest,
                                  const std::vector<std::unique_ptr<const Operator>>& known) {
  constexpr std::string_view kOperators = "public/operators/";
  std::vector<Finding> findings;
  std::set<std::string> unknown;
  for (const auto& [path, unused] : manifest.files) {
    if (!path.starts_with("public/")) continue;
    if (path.starts_with(kOperators)) {
      const std::string rest = path.substr(kOperators.size());
      const std::string name = rest.substr(0, rest.find('/'));
      if (std::ranges::find(known, name, [](const auto& op) { return op->name; }) == known.end()) {
        unknown.insert(name);
      }
      continue;
    }
    const bool ours = path.starts_with("public/lanes/") || path.starts_with("public/include/") ||
                      path.starts_with("public/roofmark_ref/");
    if (!ours) findings.push_back({.file = path, .what = "is no file of a release"});
  }
  for (const std::string& name : unknown) {
    findings.push_back({.file = std::string(kOperators) + name,
                        .what = "is an operator that is not known here, so what is hidden of it "
                                "cannot be searched for (ROOFMARK_OPERATORS names further ones)"});
  }
  return findings;
}

// The ids of the release's workloads, from the weights' file.
Result<std::vector<std::string>> WorkloadsOf(const fs::path& folder) {
  const Json weights = TRY(ReadJson(folder / kWeightsFile));
  std::vector<std::string> ids;
  for (const Json& row : TRY(weights.ArrayAt("workloads"))->array()) {
    ids.push_back(TRY(row.String("workload")));
  }
  return ids;
}

Result<void> CheckRefresh(const suite::Suite& suite, const Manifest& manifest,
                          const Version& version, const std::vector<std::string>& workloads) {
  const bool later = version.major == manifest.version.major &&
                     version.minor == manifest.version.minor && version > manifest.version;
  if (!later) {
    return Fail(ErrorKind::kInput,
                fmt::format("{} is no later patch of {}: fresh weights raise only the last number",
                            VersionText(version), VersionText(manifest.version)));
  }
  for (const Workload& workload : suite.workloads) {
    if (std::ranges::find(workloads, workload.Id()) == workloads.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the release has no workload {}; new workloads need a whole release "
                              "with a higher minor version",
                              workload.Id()));
    }
  }
  return {};
}

}  // namespace

Result<Version> ParseVersion(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '.');
  const auto plain = [](std::string_view part) {
    constexpr size_t kMostDigits = 9;
    return !part.empty() && part.size() <= kMostDigits && (part.size() == 1 || part[0] != '0') &&
           part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (parts.size() != 3 || !std::ranges::all_of(parts, plain)) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' is no semantic version such as 1.0.0", text));
  }
  return Version{.major = TRY(ParseInt(parts[0])),
                 .minor = TRY(ParseInt(parts[1])),
                 .patch = TRY(ParseInt(parts[2]))};
}

std::string VersionText(const Version& version) {
  return fmt::format("{}.{}.{}", version.major, version.minor, version.patch);
}

Result<Release> WriteRelease(const suite::Suite& suite, const Version& version,
                             const fs::path& folder, const fs::path& data) {
  const fs::path target = TargetFolder(folder);
  TRY(RequireFree(target));
  if (suite.workloads.empty()) {
    return Fail(ErrorKind::kInput, fmt::format("the suite {} has no workload", suite.name));
  }
  Manifest manifest{.suite = suite.name,
                    .version = version,
                    .contents_since = version,
                    .date = NowText().substr(0, 10),
                    .workloads = suite.workloads.size()};
  std::vector<BundleFile> files =
      TRY(MakeFiles(suite, version, manifest.date, data, &manifest.operators));
  for (const BundleFile& file : files) manifest.files[file.path] = Sha256Hex(file.text);
  files.push_back({.path = std::string(kManifestName), .text = ManifestText(manifest)});
  TRY(PutInPlace(TRY(StageBeside(target, files)), target));
  return ReleaseOf(manifest, target);
}

Result<Release> RefreshWeights(const suite::Suite& suite, const Version& version,
                               const fs::path& folder) {
  Manifest manifest = TRY(ReadManifest(folder));
  std::vector<Finding> findings = TRY(CompareFiles(folder, manifest));
  if (!fs::exists(folder / kWeightsFile)) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("{}: the hidden part is not here, and weights belong to it", folder.string()));
  }
  if (!findings.empty()) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: is not what was released:{}", folder.string(), ListOf(findings)));
  }
  const std::vector<std::string> workloads =
      TRY_IN(WorkloadsOf(folder), (folder / kWeightsFile).string());
  TRY(CheckRefresh(suite, manifest, version, workloads));
  manifest.version = version;
  manifest.date = NowText().substr(0, 10);
  const std::string weights = WeightsText(suite, workloads, version, manifest.date);
  manifest.files[std::string(kWeightsFile)] = Sha256Hex(weights);
  TRY(WriteFile(folder / kWeightsFile, weights));
  TRY(WriteFile(folder / kManifestName, ManifestText(manifest)));
  Release release = ReleaseOf(manifest, folder);
  release.without_weight = workloads.size() - suite.workloads.size();
  return release;
}

Result<Release> ReadRelease(const fs::path& folder) {
  return ReleaseOf(TRY(ReadManifest(folder)), folder);
}

Result<std::vector<Finding>> CheckRelease(const fs::path& folder,
                                          const std::vector<std::unique_ptr<const Operator>>& known,
                                          const fs::path& data) {
  const Manifest manifest = TRY(ReadManifest(folder));
  std::vector<Finding> findings = TRY(CompareFiles(folder, manifest));
  std::ranges::move(UnknownParts(manifest, known), std::back_inserter(findings));
  for (const auto& op : known) {
    if (!fs::exists(folder / "public/operators" / op->name)) continue;
    const Operator released = TRY(AsReleased(*op, folder));
    const std::vector<BundleFile> shown = TRY(ShownOf(released, folder, manifest));
    const Hidden hidden = TRY(CollectHidden(released, data / "devices"));
    std::ranges::move(ScanForHidden(TextsOf(shown), hidden, shown), std::back_inserter(findings));
  }
  return findings;
}

}  // namespace roofmark::pipeline
