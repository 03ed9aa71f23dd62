// SPDX-License-Identifier: Apache-2.0
// SQLite handles with owners and errors as values. Statements bind by position and step like a
// cursor. The database behind a Statement must outlive it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/owned.h"
#include "base/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace roofmark {

void CloseDatabase(sqlite3* db);
void FinalizeStatement(sqlite3_stmt* statement);

class Statement {
 public:
  // Positions start at 1. Text and blobs are copied.
  Statement& Bind(int position, int64_t value);
  Statement& Bind(int position, double value);
  Statement& Bind(int position, std::string_view text);
  Statement& BindNull(int position);

  // True when a row is there, false when done. Errors: kIo with SQLite's message.
  Result<bool> Step();
  // Steps until done and resets, ready for the next Bind.
  Result<void> Run();

  int64_t Int(int column) const;
  double Double(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  friend class Database;
  Statement(sqlite3* db, sqlite3_stmt* statement) : db_(db), statement_(statement) {}
  sqlite3* db_;
  Owned<sqlite3_stmt, FinalizeStatement> statement_;
};

enum class OpenMode { kReadOnly, kReadWrite };

class Database {
 public:
  // kReadWrite creates the file. ":memory:" works. Errors: kIo, kInput for a file that is not
  // SQLite.
  static Result<Database> Open(const std::filesystem::path& path, OpenMode mode);

  Result<Statement> Prepare(std::string_view sql) const;
  // Runs statements without results, separated by semicolons.
  Result<void> Execute(const std::string& sql) const;
  int64_t LastInsertId() const;

 private:
  explicit Database(sqlite3* db) : db_(db) {}
  Owned<sqlite3, CloseDatabase> db_;
};

// Rolls back unless Commit was reached.
class Transaction {
 public:
  static Result<Transaction> Begin(const Database& db);
  Transaction(Transaction&& other) noexcept : db_(other.db_) { other.db_ = nullptr; }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Result<void> Commit();

 private:
  explicit Transaction(const Database* db) : db_(db) {}
  const Database* db_;
};

}  // namespace roofmark
