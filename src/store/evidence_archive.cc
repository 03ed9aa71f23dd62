// SPDX-License-Identifier: Apache-2.0
// What verdicts were made from: objects by the hash of their bytes, folders as lists of objects,
// and evidence with a hash over everything that is kept of its verdict. A verdict that no longer
// fits its hash is damaged; nothing is concluded from it.
#include <fmt/format.h>

#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "store/schema_internal.h"
#include "store/store.h"

namespace roofmark::store {
namespace {

constexpr uint64_t kMaxFolderBytes = uint64_t{64} << 20;

std::string HashOf(const std::string& verdict, const std::string& samples,
                   const std::string& evidence) {
  return Sha256Hex(verdict + "\n" + samples + "\n" + evidence);
}

struct Kept {
  std::string verdict;
  std::string samples;
};

Result<Kept> ReadKept(const Database& db, int64_t id) {
  Statement select = TRY(
      db.Prepare("SELECT v.json, s.samples_ns FROM verdicts v LEFT JOIN samples s ON s.verdict = "
                 "v.id WHERE v.id = ?"));
  select.Bind(1, id);
  if (!TRY(select.Step())) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no verdict {}", id));
  }
  return Kept{.verdict = select.Text(0), .samples = select.IsNull(1) ? "" : select.Text(1)};
}

// Relative names with bytes, sorted.
Result<std::vector<std::pair<std::string, std::string>>> FilesIn(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (auto entry = fs::recursive_directory_iterator(folder, error);
       !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.') || name == "__pycache__") {
      if (entry->is_directory(error)) entry.disable_recursion_pending();
      continue;
    }
    if (!entry->is_regular_file(error)) continue;
    names.insert(entry->path().lexically_relative(folder).generic_string());
  }
  if (error) return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  std::vector<std::pair<std::string, std::string>> files;
  uint64_t total = 0;
  for (const std::string& name : names) {
    files.emplace_back(name, TRY(ReadFile(folder / name, kMaxFolderBytes)));
    total += files.back().second.size();
    if (total > kMaxFolderBytes) {
      return Fail(ErrorKind::kInput, folder.string() +
                                         " has over 64 MiB of files; the archive "
                                         "takes no more");
    }
  }
  return files;
}

std::string ListOf(const std::vector<std::pair<std::string, std::string>>& files) {
  Json list = Json::MakeObject();
  for (const auto& [name, bytes] : files) list.Set(name, Sha256Hex(bytes));
  return list.Dump();
}

}  // namespace

Result<void> InsertEvidence(const Database& db, int64_t verdict, const Json& evidence) {
  const Kept kept = TRY(ReadKept(db, verdict));
  const std::string text = evidence.Dump();
  Statement insert = TRY(db.Prepare("INSERT INTO evidence(verdict, sha256, json) VALUES(?, ?, ?)"));
  insert.Bind(1, verdict).Bind(2, HashOf(kept.verdict, kept.samples, text)).Bind(3, text);
  return insert.Run();
}

Result<Json> Store::ReadEvidence(int64_t verdict) const {
  Statement table =
      TRY(db_.Prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'evidence'"));
  if (!TRY(table.Step())) return Json();
  Statement select = TRY(db_.Prepare("SELECT sha256, json FROM evidence WHERE verdict = ?"));
  select.Bind(1, verdict);
  if (!TRY(select.Step())) return Json();
  const Kept kept = TRY(ReadKept(db_, verdict));
  if (HashOf(kept.verdict, kept.samples, select.Text(1)) != select.Text(0)) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: verdict {}, its samples or its evidence were altered since they "
                            "were kept; put back a copy of the store, or judge the candidate again",
                            path_.string(), verdict));
  }
  return Json::Parse(select.Text(1));
}

fs::path Store::ObjectPath(std::string_view sha256) const {
  return fs::path(path_.string() + ".objects") / std::string(sha256.substr(0, 2)) /
         std::string(sha256);
}

Result<std::string> Store::KeepObject(std::string_view bytes) {
  std::string hash = Sha256Hex(bytes);
  const fs::path path = ObjectPath(hash);
  std::error_code ignored;
  if (fs::exists(path, ignored)) {
    const Result<std::string> kept = ReadFile(path, kMaxFolderBytes);
    if (kept && *kept == bytes) return hash;
  }
  TRY(WriteFile(path, bytes));
  return hash;
}

Result<std::string> Store::ReadObject(std::string_view sha256, const std::string& what) const {
  const fs::path path = ObjectPath(sha256);
  const std::string way_out =
      fmt::format("{}; put back a copy of it, or judge the same files into this store once more",
                  path.string());
  Result<std::string> bytes = ReadFile(path, kMaxFolderBytes);
  if (!bytes) {
    return Fail(ErrorKind::kInput,
                fmt::format("the archived file {} is missing or unreadable: {}", what, way_out));
  }
  if (Sha256Hex(*bytes) != sha256) {
    return Fail(ErrorKind::kInput,
                fmt::format("the archived file {} was altered: {}", what, way_out));
  }
  return bytes;
}

Result<std::string> Store::ArchiveFolder(const fs::path& folder) {
  const auto files = TRY(FilesIn(folder));
  for (const auto& [unused, bytes] : files) TRY(KeepObject(bytes));
  return KeepObject(ListOf(files));
}

Result<std::string> Store::HashFolder(const fs::path& folder) {
  return Sha256Hex(ListOf(TRY(FilesIn(folder))));
}

Result<void> Store::RestoreFolder(std::string_view hash, const fs::path& folder) const {
  const Json list = TRY(
      Json::Parse(TRY(ReadObject(hash, "that lists the files of " + folder.filename().string()))));
  for (const auto& [name, unused] : list.object()) {
    const fs::path plain = fs::path(name).lexically_normal();
    if (plain.is_absolute() || plain.empty() || *plain.begin() == "..") {
      return Fail(ErrorKind::kInput, fmt::format("the archive names a file outside: {}", name));
    }
    const std::string what = fmt::format("{}/{}", folder.filename().string(), name);
    TRY(WriteFile(folder / plain, TRY(ReadObject(TRY(list.String(name)), what))));
  }
  return {};
}

}  // namespace roofmark::store
