// SPDX-License-Identifier: Apache-2.0
#include "pipeline/pack_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/files.h"
#include "base/hash.h"
#include "base/version.h"
#include "pipeline/pack.h"
#include "pipeline/pack_alias_internal.h"
#include "pipeline/pack_scan_internal.h"
#include "suite/card.h"

namespace roofmark::pipeline {
namespace {

// A bundle is text of a few pages; the longest is a list of sequence lengths.
constexpr uint64_t kLargestFile = 16 << 20;

using Texts = std::map<std::string, std::string>;

// What the folder holds. Links and special files are findings and are not read.
struct Contents {
  Texts files;
  std::vector<Finding> findings;
};

// Working copies by their folder (git also has a file of that name), and bare git repositories.
bool IsVersionHistory(const fs::path& path) {
  constexpr std::array<std::string_view, 5> kFolders = {".git", ".hg", ".svn", ".bzr", ".jj"};
  if (std::ranges::find(kFolders, path.filename().string()) != kFolders.end()) return true;
  return fs::is_directory(path) && fs::is_directory(path / "objects") && fs::exists(path / "HEAD");
}

Result<Contents> ReadTree(const fs::path& folder) {
  Contents contents;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, error);
  for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().lexically_relative(folder).string();
    if (IsVersionHistory(it->path())) {
      contents.findings.push_back(
          {path, 0, "is a version history, which remembers what was there"});
      it.disable_recursion_pending();
    } else if (it->is_symlink()) {
      contents.findings.push_back({path, 0, "is a symbolic link, which leads out of the bundle"});
    } else if (it->is_directory()) {
      if (fs::is_empty(it->path())) contents.findings.push_back({path, 0, "is an empty folder"});
    } else if (!it->is_regular_file()) {
      contents.findings.push_back({path, 0, "is not a regular file"});
    } else if (it->file_size() > kLargestFile) {
      contents.findings.push_back({path, 0, "is larger than any file of a bundle"});
    } else {
      contents.files[path] = TRY(ReadFile(it->path()));
    }
  }
  if (error) {
    return Fail(
        error == std::errc::no_such_file_or_directory ? ErrorKind::kNotFound : ErrorKind::kIo,
        fmt::format("{}: cannot read: {}", folder.string(), error.message()));
  }
  return contents;
}

struct Manifest {
  std::string operator_name;
  Lane lane = Lane::kCpp;
  std::string canary;
  std::map<std::string, std::string> hashes;
};

Result<Manifest> ParseManifest(const std::string& text) {
  const Json json = TRY(Json::Parse(text));
  if (!json.is_object()) return Fail(ErrorKind::kInput, "is not an object");
  TRY(json.AllowKeys({"format", "version", "operator", "lane", "canary", "files"}));
  if (TRY(json.String("format")) != kBundleFormat) {
    return Fail(ErrorKind::kInput, fmt::format("is not of format {}", kBundleFormat));
  }
  if (const std::string version = TRY(json.String("version")); version != kVersion) {
    return Fail(ErrorKind::kInput,
                fmt::format("was packed by another version; this is {}, and only "
                            "its own bundles can be made again and compared",
                            kVersion));
  }
  Manifest manifest{.operator_name = TRY(json.String("operator")),
                    .lane = TRY(ParseLane(TRY(json.String("lane")))),
                    .canary = TRY(json.String("canary"))};
  for (const auto& [path, hash] : TRY(json.ObjectAt("files"))->object()) {
    if (!hash.is_string()) return Fail(ErrorKind::kInput, "a hash is not text");
    manifest.hashes[path] = hash.as_string();
  }
  // It becomes part of the texts that are made for comparison, so it must not carry anything else.
  constexpr std::string_view kCanaryStart = "roofmark-canary-";
  if (!manifest.canary.starts_with(kCanaryStart) ||
      manifest.canary.size() != kCanaryStart.size() + 32 ||
      manifest.canary.find_first_not_of("0123456789abcdef", kCanaryStart.size()) !=
          std::string::npos) {
    return Fail(ErrorKind::kInput, "its canary is not a token that pack makes");
  }
  return manifest;
}

void CompareHashes(const Texts& files, const Manifest& manifest, std::vector<Finding>* findings) {
  for (const auto& [path, text] : files) {
    const auto hash = manifest.hashes.find(path);
    if (path != kManifestName && hash != manifest.hashes.end() && hash->second != Sha256Hex(text)) {
      findings->push_back({path, 0, "is not the file whose hash the manifest holds"});
    }
  }
  for (const auto& [path, hash] : manifest.hashes) {
    if (!files.contains(path)) findings->push_back({path, 0, "is missing"});
  }
}

size_t FirstDifference(std::string_view got, std::string_view want) {
  const auto [at, unused] = std::ranges::mismatch(got, want);
  return static_cast<size_t>(std::count(got.begin(), at, '\n')) + 1;
}

void CompareContents(const Texts& files, const std::vector<BundleFile>& made,
                     std::vector<Finding>* findings) {
  Texts wanted;
  for (const BundleFile& file : made) wanted[file.path] = file.text;
  for (const auto& [path, text] : files) {
    const auto want = wanted.find(path);
    if (want == wanted.end()) {
      findings->push_back({path, 0, "is no file of a bundle"});
    } else if (text != want->second) {
      findings->push_back({path, FirstDifference(text, want->second), "is not what pack writes"});
    }
  }
  for (const auto& [path, text] : wanted) {
    if (!files.contains(path)) findings->push_back({path, 0, "is missing"});
  }
}

// The part of the check that needs the operator.
Result<void> CheckAgainstOperator(const Texts& files, const Manifest& manifest,
                                  const fs::path& folder, const CheckAgainst& against,
                                  std::vector<Finding>* findings) {
  const Operator op = TRY(suite::ReadOperator(folder));
  BundleSpec spec{.lane = manifest.lane, .canary = manifest.canary};
  if (op.name != manifest.operator_name) spec.alias = manifest.operator_name;
  const std::vector<BundleFile> made = TRY(MakeBundle(op, spec, against.data));
  CompareContents(files, made, findings);
  Hidden hidden = TRY(CollectHidden(op, against.data / "devices"));
  if (!spec.alias.empty()) hidden.names = NamesBehind(op);
  std::ranges::move(ScanForHidden(files, hidden, made), std::back_inserter(*findings));
  return {};
}

// Where the operator of the bundle is; empty where that is unknown. The name comes from the bundle,
// so it must not lead anywhere else.
fs::path OperatorFolderOf(const Manifest& manifest, const CheckAgainst& against) {
  if (!against.operator_folder.empty()) return against.operator_folder;
  const fs::path name(manifest.operator_name);
  if (name.empty() || name != name.filename()) return {};
  std::vector<fs::path> folders = {against.data / "operators"};
  if (const auto known = OperatorFolders()) {
    folders.insert(folders.end(), known->begin(), known->end());
  }
  for (const fs::path& folder : folders) {
    if (fs::exists(folder / name / "operator.toml")) return folder / name;
  }
  return {};
}

void ScanWithoutOperator(const Texts& files, std::vector<Finding>* findings) {
  std::ranges::move(ScanForHidden(files, {}, {}), std::back_inserter(*findings));
}

std::vector<Finding> Sorted(std::vector<Finding> findings) {
  std::ranges::stable_sort(findings, [](const Finding& a, const Finding& b) {
    return std::tie(a.file, a.line) < std::tie(b.file, b.line);
  });
  const auto repeated = std::ranges::unique(findings);
  findings.erase(repeated.begin(), repeated.end());
  return findings;
}

}  // namespace

std::string FindingText(const Finding& finding) {
  return finding.line == 0 ? fmt::format("{}: {}", finding.file, finding.what)
                           : fmt::format("{}:{}: {}", finding.file, finding.line, finding.what);
}

Result<std::vector<Finding>> CheckBundle(const fs::path& folder, const CheckAgainst& against) {
  Contents contents = TRY(ReadTree(folder));
  std::vector<Finding>& findings = contents.findings;
  const std::string manifest_name(kManifestName);
  const auto found = contents.files.find(manifest_name);
  if (found == contents.files.end()) {
    findings.push_back({manifest_name, 0, "is missing, so this is no bundle"});
    ScanWithoutOperator(contents.files, &findings);
    return Sorted(std::move(findings));
  }
  const Result<Manifest> manifest = ParseManifest(found->second);
  if (!manifest) {
    findings.push_back({manifest_name, 0, manifest.error().message()});
    ScanWithoutOperator(contents.files, &findings);
    return Sorted(std::move(findings));
  }
  CompareHashes(contents.files, *manifest, &findings);
  const fs::path operator_folder = OperatorFolderOf(*manifest, against);
  if (operator_folder.empty()) {
    findings.push_back({manifest_name, 0,
                        fmt::format("its operator '{}' is unknown here, so its hidden figures "
                                    "cannot be searched for; if that is an alias, say of what "
                                    "with --operator",
                                    manifest->operator_name)});
    ScanWithoutOperator(contents.files, &findings);
    return Sorted(std::move(findings));
  }
  TRY(CheckAgainstOperator(contents.files, *manifest, operator_folder, against, &findings));
  return Sorted(std::move(findings));
}

}  // namespace roofmark::pipeline
