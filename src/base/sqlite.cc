// SPDX-License-Identifier: Apache-2.0
#include "base/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

namespace roofmark {
namespace {

std::unexpected<Error> SqliteError(sqlite3* db, std::string_view doing) {
  const int code = sqlite3_errcode(db);
  return Fail(code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? ErrorKind::kInput : ErrorKind::kIo,
              fmt::format("{}: {}", doing, sqlite3_errmsg(db)));
}

}  // namespace

void CloseDatabase(sqlite3* db) {
  sqlite3_close_v2(db);
}
void FinalizeStatement(sqlite3_stmt* statement) {
  sqlite3_finalize(statement);
}

Statement& Statement::Bind(int position, int64_t value) {
  CHECK(sqlite3_bind_int64(statement_.get(), position, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::Bind(int position, double value) {
  CHECK(sqlite3_bind_double(statement_.get(), position, value) == SQLITE_OK);
  return *this;
}

Statement& Statement::Bind(int position, std::string_view text) {
  CHECK(sqlite3_bind_text64(statement_.get(), position, text.data(), text.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8) == SQLITE_OK);
  return *this;
}

Statement& Statement::BindNull(int position) {
  CHECK(sqlite3_bind_null(statement_.get(), position) == SQLITE_OK);
  return *this;
}

Result<bool> Statement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteError(db_, "SQLite");
}

Result<void> Statement::Run() {
  while (TRY(Step())) {
  }
  sqlite3_reset(statement_.get());
  return {};
}

int64_t Statement::Int(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::Double(int column) const {
  return sqlite3_column_double(statement_.get(), column);
}

std::string Statement::Text(int column) const {
  const auto* text = sqlite3_column_text(statement_.get(), column);
  const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return text == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(text), bytes);
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

Result<Database> Database::Open(const std::filesystem::path& path, OpenMode mode) {
  sqlite3* raw = nullptr;
  const int flags = mode == OpenMode::kReadOnly ? SQLITE_OPEN_READONLY
                                                : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  Database db(raw);
  if (code != SQLITE_OK) return SqliteError(raw, path.string() + ": cannot open");
  sqlite3_busy_timeout(raw, 10000);
  return db;
}

Result<Statement> Database::Prepare(std::string_view sql) const {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(db_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr) !=
      SQLITE_OK) {
    return SqliteError(db_.get(), "SQLite");
  }
  return Statement(db_.get(), raw);
}

Result<void> Database::Execute(const std::string& sql) const {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return SqliteError(db_.get(), "SQLite");
  }
  return {};
}

int64_t Database::LastInsertId() const {
  return sqlite3_last_insert_rowid(db_.get());
}

Result<Transaction> Transaction::Begin(const Database& db) {
  TRY(db.Execute("BEGIN IMMEDIATE"));
  return Transaction(&db);
}

Transaction::~Transaction() {
  // A rollback can only fail when SQLite has already rolled back.
  if (db_ != nullptr) static_cast<void>(db_->Execute("ROLLBACK"));
}

Result<void> Transaction::Commit() {
  TRY(db_->Execute("COMMIT"));
  db_ = nullptr;
  return {};
}

}  // namespace roofmark
