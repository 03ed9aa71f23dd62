// SPDX-License-Identifier: Apache-2.0
// The only place of trace/ that sees SQLite. Stepping the primary tables in one pass reads about
// two million rows a second; a join in SQL reads a sixth of that.
#include "trace/sqlite_rows.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "base/owned.h"

namespace roofmark::trace {
namespace {

namespace fs = std::filesystem;

void CloseHandle(sqlite3* db) {
  sqlite3_close_v2(db);
}
void FinalizeHandle(sqlite3_stmt* statement) {
  sqlite3_finalize(statement);
}
using StatementHandle = Owned<sqlite3_stmt, FinalizeHandle>;

// No name or text of a profile is longer; SQLite then refuses the row instead of taking the memory.
constexpr int kMaxText = 64 << 20;

std::string Quoted(std::string_view name) {
  std::string out = "\"";
  for (const char byte : name) {
    out += byte;
    if (byte == '"') out += byte;
  }
  return out + '"';
}

// Paths as URIs: SQLite takes options only in these.
std::string Uri(const fs::path& path, bool immutable) {
  std::string uri = "file:";
  for (const char byte : fs::absolute(path).string()) {
    if (byte == '?' || byte == '#' || byte == '%') {
      uri += fmt::format("%{:02x}", static_cast<unsigned char>(byte));
    } else {
      uri += byte;
    }
  }
  return uri + (immutable ? "?mode=ro&immutable=1" : "?mode=ro");
}

}  // namespace

bool SqliteRow::Has(size_t column) const {
  return places_[column] >= 0 && sqlite3_column_type(statement_, places_[column]) != SQLITE_NULL;
}

std::optional<int64_t> SqliteRow::IntIf(size_t column) const {
  if (places_[column] < 0) return std::nullopt;
  sqlite3_value* const value = sqlite3_column_value(statement_, places_[column]);
  if (sqlite3_value_type(value) == SQLITE_NULL) return std::nullopt;
  return sqlite3_value_int64(value);
}

int64_t SqliteRow::Int(size_t column) const {
  return places_[column] < 0 ? 0 : sqlite3_column_int64(statement_, places_[column]);
}

std::string_view SqliteRow::Text(size_t column) const {
  if (places_[column] < 0) return {};
  sqlite3_value* const value = sqlite3_column_value(statement_, places_[column]);
  const auto* text = sqlite3_value_text(value);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text), static_cast<size_t>(sqlite3_value_bytes(value))};
}

struct SqliteRows::State {
  Owned<sqlite3, CloseHandle> db;
  std::string path;
  std::vector<std::string> tables;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  std::string damage;

  Result<void> Begin();
  Result<StatementHandle> Prepare(const std::string& sql);
  Result<void> Judge(int code);
};

SqliteRows::SqliteRows(std::unique_ptr<State> state) : state_(std::move(state)) {}
SqliteRows::SqliteRows(SqliteRows&&) noexcept = default;
SqliteRows& SqliteRows::operator=(SqliteRows&&) noexcept = default;
SqliteRows::~SqliteRows() = default;

const std::vector<std::string>& SqliteRows::tables() const {
  return state_->tables;
}
bool SqliteRows::HasTable(std::string_view table) const {
  return std::ranges::binary_search(state_->tables, table);
}
uint64_t SqliteRows::stored_bytes() const {
  return state_->bytes;
}
uint64_t SqliteRows::rows() const {
  return state_->rows;
}
const std::string& SqliteRows::damage() const {
  return state_->damage;
}

// Damage is survived; only the operating system's refusals are errors.
Result<void> SqliteRows::State::Judge(int code) {
  switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
      return {};
    case SQLITE_IOERR:
      if (code != SQLITE_IOERR_SHORT_READ) break;
      [[fallthrough]];
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_FORMAT:
    case SQLITE_MISMATCH:
      if (damage.empty()) {
        damage =
            fmt::format("the database does not read to its end ({})", sqlite3_errmsg(db.get()));
      }
      return {};
    default:
      break;
  }
  return Fail(ErrorKind::kIo, fmt::format("{}: {}", path, sqlite3_errmsg(db.get())));
}

Result<StatementHandle> SqliteRows::State::Prepare(const std::string& sql) {
  sqlite3_stmt* raw = nullptr;
  const int code =
      sqlite3_prepare_v2(db.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
  StatementHandle statement(raw);
  if (code != SQLITE_OK) TRY(Judge(code));
  return statement;
}

Result<void> SqliteRows::State::Begin() {
  sqlite3_limit(db.get(), SQLITE_LIMIT_LENGTH, kMaxText);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  constexpr const char* kList =
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'";
  StatementHandle list = TRY(Prepare(kList));
  if (list == nullptr) {
    // SQLite refuses a file that is shorter than its header says, unless its schema may be written.
    // Nothing is: the file is open for reading only.
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    sqlite3_db_config(db.get(), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
    list = TRY(Prepare(kList));
  }
  if (list == nullptr) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: no SQLite database that reads ({}); export it again, or "
                            "check that the copy is whole",
                            path, damage));
  }
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(list.get())) == SQLITE_ROW) {
    const auto* name = sqlite3_column_text(list.get(), 0);
    if (name != nullptr) tables.emplace_back(reinterpret_cast<const char*>(name));
  }
  TRY(Judge(code));
  std::ranges::sort(tables);
  return {};
}

Result<SqliteRows> SqliteRows::OpenFile(const fs::path& path) {
  auto state = std::make_unique<State>();
  state->path = path.string();
  std::error_code error;
  state->bytes = fs::file_size(path, error);
  if (error) {
    return Fail(fs::exists(path) ? ErrorKind::kIo : ErrorKind::kNotFound,
                fmt::format("{}: {}", path.string(), error.message()));
  }
  // No connection is shared by threads. An immutable file needs no locks, so it may lie where
  // nobody can write; but then SQLite does not look at the log of a writer that never closed it,
  // which holds rows.
  const fs::path log = path.string() + "-wal";
  const bool has_log = fs::exists(log, error) && fs::file_size(log, error) > 0;
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(Uri(path, !has_log).c_str(), &raw,
                      SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  state->db.reset(raw);
  if (code != SQLITE_OK) TRY(state->Judge(code));
  TRY(state->Begin());
  return SqliteRows(std::move(state));
}

Result<SqliteRows> SqliteRows::FromMemory(std::string_view bytes) {
  auto state = std::make_unique<State>();
  state->path = "memory";
  state->bytes = bytes.size();
  sqlite3* raw = nullptr;
  int code =
      sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  state->db.reset(raw);
  if (code != SQLITE_OK) TRY(state->Judge(code));
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) return Fail(ErrorKind::kIo, "no memory for the database");
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  code = sqlite3_deserialize(raw, "main", copy, size, size,
                             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  if (code != SQLITE_OK) return Fail(ErrorKind::kInput, "no SQLite database");
  TRY(state->Begin());
  return SqliteRows(std::move(state));
}

std::vector<std::string> SqliteRows::Columns(std::string_view table) const {
  std::vector<std::string> columns;
  if (!HasTable(table)) return columns;
  auto statement = state_->Prepare("SELECT * FROM " + Quoted(table));
  if (!statement || *statement == nullptr) return columns;
  const int count = sqlite3_column_count(statement->get());
  for (int i = 0; i < count; ++i) columns.emplace_back(sqlite3_column_name(statement->get(), i));
  return columns;
}

Result<void> SqliteRows::Scan(std::string_view table, std::span<const char* const> columns,
                              const std::function<void(const SqliteRow&)>& visit) {
  const std::vector<std::string> there = Columns(table);
  std::vector<int> places;
  std::string chosen;
  int next = 0;
  for (const char* column : columns) {
    const bool found = std::ranges::find(there, column) != there.end();
    places.push_back(found ? next++ : -1);
    if (found) chosen += (chosen.empty() ? "" : ", ") + Quoted(column);
  }
  if (chosen.empty()) return {};
  StatementHandle statement =
      TRY(state_->Prepare("SELECT " + chosen + " FROM " + Quoted(table) + " NOT INDEXED"));
  if (statement == nullptr) return {};
  const SqliteRow row(statement.get(), places);
  // A row takes at least four bytes of a page: more rows than that are pages that repeat.
  uint64_t left = state_->bytes / 4 + 16;
  int code = SQLITE_ROW;
  while ((code = sqlite3_step(statement.get())) == SQLITE_ROW) {
    if (left-- == 0) {
      state_->damage = fmt::format("table {} has more rows than the file has room for", table);
      return {};
    }
    ++state_->rows;
    visit(row);
  }
  return state_->Judge(code);
}

struct SqliteRows::Lookup::Inner {
  SqliteRows& rows;
  std::string table;
  std::string key;
  std::string text;
  bool begun = false;
  StatementHandle statement;  // where the key is the table's own
  std::unordered_map<int64_t, std::string> all;

  void Begin();
};

SqliteRows::Lookup::Lookup(SqliteRows& rows, std::string table, std::string key, std::string text)
    : inner_(
          new Inner{rows, std::move(table), std::move(key), std::move(text), false, nullptr, {}}) {}
SqliteRows::Lookup::~Lookup() = default;

void SqliteRows::Lookup::Inner::Begin() {
  begun = true;
  if (!rows.HasTable(table)) return;
  const char* type = nullptr;
  int own = 0;
  sqlite3_table_column_metadata(rows.state_->db.get(), "main", table.c_str(), key.c_str(), &type,
                                nullptr, nullptr, &own, nullptr);
  if (own != 0 && type != nullptr && sqlite3_stricmp(type, "INTEGER") == 0) {
    auto prepared = rows.state_->Prepare("SELECT " + Quoted(text) + " FROM " + Quoted(table) +
                                         " WHERE " + Quoted(key) + " = ?");
    if (prepared) statement = std::move(*prepared);
    return;
  }
  const char* columns[] = {key.c_str(), text.c_str()};
  static_cast<void>(rows.Scan(table, columns,
                              [&](const SqliteRow& row) { all.emplace(row.Int(0), row.Text(1)); }));
}

std::string_view SqliteRows::Lookup::Find(int64_t id) {
  Inner& inner = *inner_;
  if (!inner.begun) inner.Begin();
  if (inner.statement == nullptr) {
    const auto found = inner.all.find(id);
    return found == inner.all.end() ? std::string_view() : std::string_view(found->second);
  }
  sqlite3_stmt* statement = inner.statement.get();
  sqlite3_reset(statement);
  sqlite3_bind_int64(statement, 1, id);
  const int code = sqlite3_step(statement);
  if (code != SQLITE_ROW) {
    static_cast<void>(inner.rows.state_->Judge(code));
    return {};
  }
  const auto* text = sqlite3_column_text(statement, 0);
  if (text == nullptr) return {};
  return {reinterpret_cast<const char*>(text),
          static_cast<size_t>(sqlite3_column_bytes(statement, 0))};
}

}  // namespace roofmark::trace
