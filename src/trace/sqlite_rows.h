// SPDX-License-Identifier: Apache-2.0
// Foreign SQLite databases as streams of rows. Profilers change their schemas from release to
// release, so a reader asks for columns by name and gets null for those that this file lacks.
// Tables are stepped once in the order of their rows and never joined by SQL. A database is foreign
// data: nothing in its schema is run (no views, triggers or virtual tables), and where a page does
// not read, the rows before it count and the damage is said.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

struct sqlite3_stmt;

namespace roofmark::trace {

// The current row. Columns are numbered as they were asked for.
class SqliteRow {
 public:
  SqliteRow(sqlite3_stmt* statement, const std::vector<int>& places)
      : statement_(statement), places_(places) {}

  bool Has(size_t column) const;  // there is such a column, and it is not null
  int64_t Int(size_t column) const;
  // Nothing where Has says no; quicker than asking twice.
  std::optional<int64_t> IntIf(size_t column) const;
  int64_t IntOr(size_t column, int64_t otherwise) const {
    return IntIf(column).value_or(otherwise);
  }
  std::string_view Text(size_t column) const;  // until the next row; without data where null

 private:
  sqlite3_stmt* statement_;
  const std::vector<int>& places_;  // in the statement; -1 where the table lacks the column
};

class SqliteRows {
 public:
  // Errors: kNotFound, kIo, kInput where this is no SQLite database.
  static Result<SqliteRows> OpenFile(const std::filesystem::path& path);
  // Copies `bytes`.
  static Result<SqliteRows> FromMemory(std::string_view bytes);

  SqliteRows(SqliteRows&&) noexcept;
  SqliteRows& operator=(SqliteRows&&) noexcept;
  ~SqliteRows();

  // Names of the tables, in order of their names.
  const std::vector<std::string>& tables() const;
  bool HasTable(std::string_view table) const;
  // The names of a table's columns; empty where there is no such table.
  std::vector<std::string> Columns(std::string_view table) const;

  // Calls `visit` for each row, in the order in which they are stored; a table that is not there
  // has none. A page that does not read ends the scan: see damage(). Errors: kIo.
  Result<void> Scan(std::string_view table, std::span<const char* const> columns,
                    const std::function<void(const SqliteRow&)>& visit);

  // The text of `column` in the row whose `key` is `id`, quick where the key is the table's own;
  // else the whole table is read once, at the first call.
  class Lookup;

  uint64_t stored_bytes() const;
  uint64_t rows() const;  // visited so far
  // What did not read; empty where all is well.
  const std::string& damage() const;

 private:
  struct State;
  explicit SqliteRows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Texts by number, such as StringIds(id, value): profiles name only a few of those that they list.
class SqliteRows::Lookup {
 public:
  // The database must outlive this.
  Lookup(SqliteRows& rows, std::string table, std::string key, std::string text);
  ~Lookup();
  // Empty where there is none. The view is valid until the next call.
  std::string_view Find(int64_t id);

 private:
  struct Inner;
  std::unique_ptr<Inner> inner_;
};

}  // namespace roofmark::trace
