// SPDX-License-Identifier: Apache-2.0
#include "worker/arena_book.h"

#include <fmt/format.h>

#include <algorithm>

namespace roofmark::worker {
namespace {

// As much as a worker keeps inaccessible on both sides of an arena.
constexpr int64_t kZoneBytes = int64_t{1} << 20;

// The last tensor that begins at or before `offset`, and how far into it that is.
std::string Place(const Json& tensors, int64_t offset) {
  std::string text = fmt::format("byte {} of the arena", offset);
  for (const Json& tensor : tensors.array()) {
    const int64_t begin = tensor.Find("offset")->as_int();
    if (begin > offset) break;
    text = fmt::format("byte {} of {}", offset - begin, tensor.Find("name")->as_string());
  }
  return text;
}

}  // namespace

void ArenaBook::Note(const Json& request, const Json& reply) {
  const Json* const verb = request.Find("do");
  if (verb == nullptr || !verb->is_string()) return;
  if (verb->as_string() == "unmap") {
    std::erase_if(rows_,
                  [&](const Row& row) { return row.name == request.Find("arena")->as_string(); });
  }
  const Json* const address = reply.Find("address");
  if (verb->as_string() != "map" || address == nullptr || !address->is_int()) return;
  rows_.push_back({.name = request.Find("arena")->as_string(),
                   .writable = request.Find("access")->as_string() == "rw",
                   .address = address->as_int(),
                   .bytes = request.Find("bytes")->as_int(),
                   .tensors = *request.Find("tensors")});
}

std::optional<ArenaBook::Meaning> ArenaBook::Explain(int64_t address) const {
  for (const Row& row : rows_) {
    const int64_t offset = address - row.address;
    if (offset >= 0 && offset < row.bytes && !row.writable) {
      return Meaning{
          .outcome = Outcome::kInputMutated,
          .text = "a write to the inputs, which are read-only: " + Place(row.tensors, offset)};
    }
    if (offset >= row.bytes && offset < row.bytes + kZoneBytes) {
      return Meaning{.outcome = Outcome::kOutOfBounds,
                     .text = fmt::format("an access {} bytes beyond the end of {}: {}",
                                         offset - row.bytes, row.name, Place(row.tensors, offset))};
    }
    if (offset < 0 && offset >= -kZoneBytes) {
      return Meaning{
          .outcome = Outcome::kOutOfBounds,
          .text = fmt::format("an access {} bytes before the start of {}", -offset, row.name)};
    }
  }
  return std::nullopt;
}

std::optional<int64_t> ArenaBook::AddressOf(std::string_view name) const {
  const auto row = std::ranges::find(rows_, name, &Row::name);
  return row == rows_.end() ? std::nullopt : std::optional(row->address);
}

int64_t ArenaBook::total_bytes() const {
  int64_t total = 0;
  for (const Row& row : rows_) total += row.bytes;
  return total;
}

}  // namespace roofmark::worker
