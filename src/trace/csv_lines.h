// SPDX-License-Identifier: Apache-2.0
// Comma separated values of any size, a record at a time (RFC 4180): quoted fields may hold commas,
// quotes and line breaks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "trace/byte_source.h"
#include "trace/window.h"

namespace roofmark::trace {

class CsvLines {
 public:
  // A longer record is cut there: it lost a quote.
  static constexpr size_t kMaxRecord = 1 << 20;

  explicit CsvLines(ByteSource& source) : window_(source) {}

  // Reads the next record; false at the end. Fields are valid until the next call. Errors: kIo.
  Result<bool> Next();
  const std::vector<std::string_view>& fields() const { return fields_; }
  size_t bytes() const { return bytes_; }  // of the record
  // The record was longer than kMaxRecord, or the file ended inside it.
  bool broken() const { return broken_; }

 private:
  void Cut(std::string_view record);

  Window window_;
  size_t drop_ = 0;
  size_t bytes_ = 0;
  bool broken_ = false;
  std::vector<std::string_view> fields_;
  std::string unquoted_;
};

}  // namespace roofmark::trace
