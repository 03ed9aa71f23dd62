// SPDX-License-Identifier: Apache-2.0
// The shape of the database, and the one place that decides whether a file is a store of ours.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/sqlite.h"

namespace roofmark::store {

// Version 2: verdicts have a mode, by which queries tell them apart; those of version 1 have none
// and are eager. The tables are the same, so a store of version 1 is read as it is and becomes one
// of version 2 when it is opened for writing: a Roofmark that would mix the modes then refuses it.
inline constexpr int64_t kSchemaVersion = 2;
inline constexpr int64_t kOldestSchema = 1;
// PRAGMA application_id: "Rfmk".
inline constexpr int64_t kApplicationId = 0x52666d6b;

// Checks integrity, ownership and version; kReadWrite also creates the tables in an empty file, and
// is safe when several processes do it at once. Errors: kInput with the way out, kIo.
Result<void> PrepareSchema(const Database& db, const std::filesystem::path& path, OpenMode mode);

// Keeps a verdict's evidence with a hash over it and what was kept of the verdict already.
Result<void> InsertEvidence(const Database& db, int64_t verdict, const Json& evidence);

// The current time, ISO 8601 in UTC with seconds.
std::string Now();

}  // namespace roofmark::store
