// SPDX-License-Identifier: Apache-2.0
#include "trace/known_lists.h"

#include <algorithm>
#include <functional>

#include "trace/char_scan.h"

namespace roofmark::trace {
namespace {

// The same part of a copy; false where the part is of another text.
bool Move(std::string_view from, std::string_view to, std::string_view& part) {
  if (part.empty()) return true;
  const std::less<> before;
  const char* const end = part.data() + part.size();
  if (before(part.data(), from.data()) || before(from.data() + from.size(), end)) return false;
  part = to.substr(static_cast<size_t>(part.data() - from.data()), part.size());
  return true;
}

}  // namespace

void KnownLists::Learn(uint64_t tag, uint16_t step, uint16_t next, std::string_view text,
                       const EventFields& fields) {
  Entry& entry = EntryOf(tag);
  if (text.size() > kMaxSize || given_ == UINT32_MAX) return;
  if (entry.seen != tag) {
    entry.seen = tag;
    return;
  }
  entry.number = 0;
  entry.text.assign(text.size() + kScanBlock, ' ');
  std::ranges::copy(text, entry.text.begin());
  const std::string_view copy(entry.text.data(), text.size());
  entry.dims = fields.dims;
  entry.types = fields.types;
  entry.concrete = fields.concrete;
  if (!Move(text, copy, entry.dims) || !Move(text, copy, entry.types) ||
      !Move(text, copy, entry.concrete)) {
    return;
  }
  entry.tag = tag;
  entry.size = static_cast<uint32_t>(text.size());
  entry.step = step;
  entry.next = next;
  entry.number = ++given_;
}

void KnownLists::Forget() {
  for (Entry& entry : entries_) entry.number = 0;
}

}  // namespace roofmark::trace
