// SPDX-License-Identifier: Apache-2.0
// What the judge remembers of the arenas that it lent to a worker, to say what an address means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "model/verdict.h"

namespace roofmark::worker {

class ArenaBook {
 public:
  // Notes a request of the judge and the reply to it; anything but map and unmap is ignored.
  void Note(const Json& request, const Json& reply);

  // What touching `address` means: kInputMutated in a read-only arena, kOutOfBounds up to a
  // megabyte outside of an arena; nothing elsewhere.
  struct Meaning {
    Outcome outcome = Outcome::kCrashed;
    std::string text;
  };
  std::optional<Meaning> Explain(int64_t address) const;

  // Where the worker says that it has mapped the arena; nothing where it has none of this name.
  std::optional<int64_t> AddressOf(std::string_view name) const;

  int64_t total_bytes() const;

 private:
  struct Row {
    std::string name;
    bool writable = false;
    int64_t address = 0;
    int64_t bytes = 0;
    Json tensors;
  };
  std::vector<Row> rows_;
};

}  // namespace roofmark::worker
