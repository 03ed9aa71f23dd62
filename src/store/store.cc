// SPDX-License-Identifier: Apache-2.0
#include "store/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/hash.h"
#include "store/schema_internal.h"

namespace roofmark::store {
namespace {

// The columns by which the latest verdicts are chosen.
struct Key {
  int64_t id = 0;
  std::string contestant;  // candidate, lane, role, operator, device, mode
  std::string shape;
  std::string hash;
};

std::string_view RoleText(Role role) {
  return role == Role::kBaseline ? "baseline" : "candidate";
}

constexpr std::string_view kMode = "coalesce(json_extract(json, '$.mode'), 'eager')";

// The condition for SQL and the values to bind, in order.
struct Where {
  std::string sql = " WHERE 1";
  std::vector<std::string> texts;
};

Where WhereOf(const VerdictFilter& filter) {
  Where where;
  const auto add = [&](std::string_view column, std::string_view value) {
    if (value.empty()) return;
    where.sql += fmt::format(" AND {} = ?", column);
    where.texts.emplace_back(value);
  };
  add("operator", filter.operator_name);
  add("shape", filter.shape);
  add("candidate", filter.candidate);
  add("device", filter.device);
  if (filter.lane) add("lane", LaneName(*filter.lane));
  if (filter.mode) add(kMode, ModeName(*filter.mode));
  if (filter.run) where.sql += fmt::format(" AND run = {}", *filter.run);
  return where;
}

std::vector<int64_t> LatestIds(const std::vector<Key>& keys) {
  std::map<std::string, std::string> newest_hash;
  for (const Key& key : keys) newest_hash[key.contestant] = key.hash;
  std::map<std::pair<std::string, std::string>, int64_t> newest;
  for (const Key& key : keys) {
    if (key.hash == newest_hash[key.contestant]) newest[{key.contestant, key.shape}] = key.id;
  }
  std::vector<int64_t> ids;
  for (const auto& [unused, id] : newest) ids.push_back(id);
  std::ranges::sort(ids);
  return ids;
}

Result<void> InsertVerdict(const Database& db, int64_t run, const Verdict& verdict) {
  Statement insert = TRY(db.Prepare(
      "INSERT INTO verdicts(run, operator, shape, phase, candidate, candidate_hash, lane, role, "
      "device, gate, outcome, time_ns, attainment, json) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  insert.Bind(1, run)
      .Bind(2, verdict.operator_name)
      .Bind(3, verdict.shape)
      .Bind(4, PhaseName(verdict.phase))
      .Bind(5, verdict.candidate)
      .Bind(6, verdict.candidate_hash)
      .Bind(7, LaneName(verdict.lane))
      .Bind(8, RoleText(verdict.role))
      .Bind(9, verdict.device)
      .Bind(10, GateName(verdict.gate))
      .Bind(11, OutcomeName(verdict.outcome));
  const auto bind = [&](int position, const std::optional<Interval>& value) {
    if (value) {
      insert.Bind(position, value->median);
    } else {
      insert.BindNull(position);
    }
  };
  bind(12, verdict.time_ns);
  bind(13, verdict.attainment);
  insert.Bind(14, VerdictToJson(verdict, Samples::kOmit).Dump());
  TRY(insert.Run());
  const int64_t id = db.LastInsertId();
  if (!verdict.samples_ns.empty()) {
    Statement samples = TRY(db.Prepare("INSERT INTO samples(verdict, samples_ns) VALUES(?, ?)"));
    samples.Bind(1, id).Bind(
        2, Json(Json::Array(verdict.samples_ns.begin(), verdict.samples_ns.end())).Dump());
    TRY(samples.Run());
  }
  return verdict.evidence.is_null() ? Result<void>() : InsertEvidence(db, id, verdict.evidence);
}

Result<StoredVerdict> ReadRow(const Statement& row) {
  StoredVerdict stored{.id = row.Int(0), .run = row.Int(1)};
  Json json = TRY(Json::Parse(row.Text(2)));
  if (!row.IsNull(3)) json.Set("samples_ns", TRY(Json::Parse(row.Text(3))));
  stored.verdict = TRY(VerdictFromJson(json));
  return stored;
}

}  // namespace

Result<Store> Store::Open(const std::filesystem::path& path, OpenMode mode) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    if (mode == OpenMode::kReadOnly) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("there is no store {}; `roofmark judge --store {}` makes one",
                              path.string(), path.string()));
    }
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  }
  Database db = TRY(Database::Open(path, mode));
  TRY(PrepareSchema(db, path, mode));
  return Store(path, std::move(db));
}

Result<int64_t> Store::AddRun(const RunInfo& run) {
  Statement insert = TRY(
      db_.Prepare("INSERT INTO runs(date, command, suite, device, details) VALUES(?, ?, ?, ?, ?)"));
  insert.Bind(1, run.date.empty() ? Now() : run.date)
      .Bind(2, run.command)
      .Bind(3, run.suite)
      .Bind(4, run.device)
      .Bind(5, run.details.Dump());
  TRY(insert.Run());
  return db_.LastInsertId();
}

Result<std::vector<RunInfo>> Store::ReadRuns() const {
  Statement select =
      TRY(db_.Prepare("SELECT id, date, command, suite, device, details FROM runs ORDER BY id"));
  std::vector<RunInfo> runs;
  while (TRY(select.Step())) {
    runs.push_back({.id = select.Int(0),
                    .date = select.Text(1),
                    .command = select.Text(2),
                    .suite = select.Text(3),
                    .device = select.Text(4),
                    .details = TRY(Json::Parse(select.Text(5)))});
  }
  return runs;
}

Result<void> Store::AddVerdicts(int64_t run, std::span<const Verdict> verdicts) {
  Transaction transaction = TRY(Transaction::Begin(db_));
  Statement known = TRY(db_.Prepare("SELECT 1 FROM runs WHERE id = ?"));
  known.Bind(1, run);
  if (!TRY(known.Step())) {
    return Fail(ErrorKind::kNotFound, fmt::format("{} has no run {}", path_.string(), run));
  }
  for (const Verdict& verdict : verdicts) TRY(InsertVerdict(db_, run, verdict));
  return transaction.Commit();
}

Result<std::vector<StoredVerdict>> Store::ReadVerdicts(const VerdictFilter& filter,
                                                       History history) const {
  const Where where = WhereOf(filter);
  Statement select = TRY(db_.Prepare(
      fmt::format("SELECT id, candidate, lane, role, operator, device, {}, shape, candidate_hash "
                  "FROM verdicts{} ORDER BY id",
                  kMode, where.sql)));
  for (size_t i = 0; i < where.texts.size(); ++i) {
    select.Bind(static_cast<int>(i) + 1, where.texts[i]);
  }
  std::vector<Key> keys;
  std::vector<int64_t> ids;
  while (TRY(select.Step())) {
    Key key{.id = select.Int(0), .shape = select.Text(7), .hash = select.Text(8)};
    for (int column = 1; column <= 6; ++column) key.contestant += select.Text(column) + '\n';
    ids.push_back(key.id);
    keys.push_back(std::move(key));
  }
  if (history == History::kLatest) ids = LatestIds(keys);
  Statement row = TRY(
      db_.Prepare("SELECT v.id, v.run, v.json, s.samples_ns FROM verdicts v LEFT JOIN samples s "
                  "ON s.verdict = v.id WHERE v.id = ?"));
  std::vector<StoredVerdict> verdicts;
  for (const int64_t id : ids) {
    row.Bind(1, id);
    TRY(row.Step());
    verdicts.push_back(TRY_IN(ReadRow(row), fmt::format("{}: verdict {}", path_.string(), id)));
    TRY(row.Run());
  }
  return verdicts;
}

Result<std::vector<Verdict>> Store::LatestVerdicts(const VerdictFilter& filter) const {
  std::vector<Verdict> verdicts;
  for (StoredVerdict& stored : TRY(ReadVerdicts(filter, History::kLatest))) {
    verdicts.push_back(std::move(stored.verdict));
  }
  return verdicts;
}

Result<void> Store::AddDocument(std::string_view kind, std::string_view name, const Json& content) {
  const std::string text = content.Dump();
  Statement insert =
      TRY(db_.Prepare("INSERT INTO documents(kind, name, sha256, date, json) VALUES(?, ?, ?, ?, ?) "
                      "ON CONFLICT DO NOTHING"));
  insert.Bind(1, kind).Bind(2, name).Bind(3, Sha256Hex(text)).Bind(4, Now()).Bind(5, text);
  return insert.Run();
}

Result<std::vector<Document>> Store::ReadDocuments(std::string_view kind) const {
  Statement select = TRY(db_.Prepare(
      "SELECT name, date, json FROM documents WHERE id IN (SELECT max(id) FROM documents WHERE "
      "kind = ? GROUP BY name) ORDER BY name"));
  select.Bind(1, kind);
  std::vector<Document> documents;
  while (TRY(select.Step())) {
    documents.push_back({.kind = std::string(kind),
                         .name = select.Text(0),
                         .date = select.Text(1),
                         .content = TRY(Json::Parse(select.Text(2)))});
  }
  return documents;
}

}  // namespace roofmark::store
