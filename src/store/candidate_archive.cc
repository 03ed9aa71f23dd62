// SPDX-License-Identifier: Apache-2.0
// The archive of candidates: every file once, by the hash of its bytes, so that a verdict can be
// reproduced long after the candidate's folder has changed.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "store/schema_internal.h"
#include "store/store.h"

namespace roofmark::store {
namespace {

constexpr uint64_t kMaxArchiveBytes = uint64_t{64} << 20;

std::vector<std::string> Texts(const std::vector<fs::path>& paths) {
  std::vector<std::string> texts;
  for (const fs::path& path : paths) texts.push_back(path.generic_string());
  return texts;
}

Json TextList(const std::vector<std::string>& texts) {
  return Json(Json::Array(texts.begin(), texts.end()));
}

Result<std::vector<std::string>> ReadTexts(const Json& json, std::string_view key) {
  std::vector<std::string> texts;
  for (const Json& item : TRY(json.ArrayAt(key))->array()) {
    if (!item.is_string()) return Fail(ErrorKind::kInput, fmt::format("{} holds no text", key));
    texts.push_back(item.as_string());
  }
  return texts;
}

bool StaysInside(const fs::path& relative) {
  const fs::path plain = relative.lexically_normal();
  return plain.is_relative() && !plain.empty() && *plain.begin() != "..";
}

// The sources and what lies below the include paths, relative to the candidate's folder, sorted.
// Include paths outside it (system headers) are the machine's, not the candidate's.
Result<std::set<std::string>> FilesOf(const Candidate& candidate) {
  std::set<std::string> files;
  for (const std::string& source : Texts(candidate.sources)) files.insert(source);
  for (const fs::path& include : candidate.include_paths) {
    if (!StaysInside(include / "x")) continue;
    std::error_code error;
    for (auto entry = fs::recursive_directory_iterator(candidate.folder / include, error);
         !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      if (!entry->is_regular_file(error)) continue;
      files.insert(entry->path().lexically_relative(candidate.folder).generic_string());
    }
    if (error) {
      return Fail(ErrorKind::kIo,
                  fmt::format("{}: {}", (candidate.folder / include).string(), error.message()));
    }
  }
  return files;
}

Json ManifestOf(const Candidate& candidate) {
  Json manifest = Json::MakeObject();
  if (!candidate.operator_alias.empty()) manifest.Set("operator_alias", candidate.operator_alias);
  return manifest.Set("name", candidate.name)
      .Set("lane", LaneName(candidate.lane))
      .Set("baseline", candidate.role == Role::kBaseline)
      .Set("entry", candidate.entry)
      .Set("mode", ModeName(candidate.mode))
      .Set("deterministic", candidate.deterministic)
      .Set("compiler", candidate.compiler)
      .Set("libraries", TextList(candidate.libraries))
      .Set("sources", TextList(Texts(candidate.sources)))
      .Set("options", TextList(candidate.options))
      .Set("include_paths", TextList(Texts(candidate.include_paths)));
}

Result<Candidate> CandidateOf(const Json& manifest) {
  Candidate candidate{.name = TRY(manifest.String("name"))};
  candidate.lane = TRY(ParseLane(TRY(manifest.String("lane"))));
  candidate.role = TRY(manifest.Bool("baseline")) ? Role::kBaseline : Role::kCandidate;
  candidate.entry = TRY(manifest.String("entry"));
  // Archives of older versions say none of these.
  if (manifest.Find("mode") != nullptr) {
    candidate.mode = TRY(ParseMode(TRY(manifest.String("mode"))));
  }
  if (manifest.Find("deterministic") != nullptr) {
    candidate.deterministic = TRY(manifest.Bool("deterministic"));
  }
  if (manifest.Find("compiler") != nullptr) {
    candidate.compiler = TRY(manifest.String("compiler"));
    candidate.libraries = TRY(ReadTexts(manifest, "libraries"));
  }
  if (manifest.Find("operator_alias") != nullptr) {
    candidate.operator_alias = TRY(manifest.String("operator_alias"));
  }
  candidate.options = TRY(ReadTexts(manifest, "options"));
  for (const std::string& text : TRY(ReadTexts(manifest, "sources"))) {
    candidate.sources.emplace_back(text);
  }
  for (const std::string& text : TRY(ReadTexts(manifest, "include_paths"))) {
    candidate.include_paths.emplace_back(text);
  }
  return candidate;
}

}  // namespace

Result<void> Store::ArchiveCandidate(const Candidate& candidate) {
  Json manifest = ManifestOf(candidate);
  Json files = Json::MakeObject();
  uint64_t total = 0;
  for (const std::string& file : TRY(FilesOf(candidate))) {
    const std::string bytes = TRY(ReadFile(candidate.folder / file, kMaxArchiveBytes));
    total += bytes.size();
    if (total > kMaxArchiveBytes) {
      return Fail(ErrorKind::kInput,
                  fmt::format("candidate {} has over 64 MiB of files; narrow its include paths",
                              candidate.name));
    }
    files.Set(file, TRY(KeepObject(bytes)));
  }
  manifest.Set("files", std::move(files));
  Statement insert = TRY(db_.Prepare(
      "INSERT INTO candidates(hash, name, date, json) VALUES(?, ?, ?, ?) ON CONFLICT(hash) DO "
      "UPDATE SET name = excluded.name, json = excluded.json"));
  insert.Bind(1, candidate.content_hash)
      .Bind(2, candidate.name)
      .Bind(3, Now())
      .Bind(4, manifest.Dump());
  return insert.Run();
}

Result<Candidate> Store::RestoreCandidate(std::string_view content_hash,
                                          const fs::path& folder) const {
  Statement select = TRY(db_.Prepare("SELECT json FROM candidates WHERE hash = ?"));
  select.Bind(1, content_hash);
  if (!TRY(select.Step())) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{} has no candidate with hash {}", path_.string(), content_hash));
  }
  const Json manifest = TRY(Json::Parse(select.Text(0)));
  Candidate candidate = TRY(CandidateOf(manifest));
  candidate.folder = folder;
  candidate.content_hash = std::string(content_hash);
  const Json& files = *TRY(manifest.ObjectAt("files"));
  for (const auto& [file, unused] : files.object()) {
    const std::string hash = TRY(files.String(file));
    const std::string what = fmt::format("{} of candidate {}", file, candidate.name);
    if (!StaysInside(file)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the archive's list of files was altered: {}", what));
    }
    TRY(WriteFile(folder / file, TRY(ReadObject(hash, what))));
  }
  return candidate;
}

}  // namespace roofmark::store
