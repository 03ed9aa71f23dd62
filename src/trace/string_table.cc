// SPDX-License-Identifier: Apache-2.0
// Open addressing over 64-bit hashes; the texts lie in large blocks that never move.
#include "trace/string_table.h"

#include <algorithm>
#include <cstring>

namespace roofmark::trace {
namespace {

constexpr size_t kBlock = 64 << 10;

uint64_t Load(const char* at, size_t size) {
  uint64_t word = 0;
  std::memcpy(&word, at, size);
  return word;
}

uint64_t Mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Equal sizes. Most texts are a few words long, which is quicker than a call.
bool SameBytes(const char* a, const char* b, size_t size) {
  if (size > 64) return std::memcmp(a, b, size) == 0;
  size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    if (Load(a + at, 8) != Load(b + at, 8)) return false;
  }
  if (size >= 8) return Load(a + size - 8, 8) == Load(b + size - 8, 8);
  for (; at < size; ++at) {
    if (a[at] != b[at]) return false;
  }
  return true;
}

// By the size, the first and the last bytes.
size_t RecentSlot(std::string_view text) {
  uint64_t ends = 0;
  if (text.size() >= 8) {
    ends = Load(text.data(), 8) * 3 + Load(text.data() + text.size() - 8, 8);
  } else {
    for (const char byte : text) ends = ends << 8 | static_cast<unsigned char>(byte);
  }
  return (ends + text.size()) * 0x9E3779B97F4A7C15U >> 56;
}

}  // namespace

uint64_t HashText(std::string_view text) {
  constexpr uint64_t kA = 0x9E3779B97F4A7C15U;
  constexpr uint64_t kB = 0xD6E8FEB86659FD93U;
  uint64_t hash = Mix(text.size() ^ kA, kB);
  const char* at = text.data();
  size_t left = text.size();
  // Four independent chains, since one multiplication waits for the last.
  if (left >= 64) {
    uint64_t lanes[4] = {hash, hash ^ kA, hash ^ kB, hash + kA};
    for (; left >= 64; left -= 64, at += 64) {
      for (size_t lane = 0; lane < 4; ++lane) {
        lanes[lane] = Mix(Load(at + 16 * lane, 8) ^ lanes[lane], Load(at + 16 * lane + 8, 8) ^ kB);
      }
    }
    hash = Mix(lanes[0] ^ kA, lanes[1]) ^ Mix(lanes[2] ^ kB, lanes[3]);
  }
  for (; left >= 16; left -= 16, at += 16) {
    hash = Mix(Load(at, 8) ^ hash, Load(at + 8, 8) ^ kB);
  }
  if (left >= 8) {
    hash = Mix(Load(at, 8) ^ hash, Load(at + left - 8, 8) ^ kB);
  } else if (left > 0) {
    hash = Mix(Load(at, left) ^ hash, kB);
  }
  return Mix(hash ^ kA, kB);
}

StringTable::StringTable() : slots_(1024) {
  recent_.fill(kNoText);
}

// The slot of the text, or the empty one where it belongs.
size_t StringTable::SlotOf(uint64_t hash, std::string_view text) const {
  const size_t mask = slots_.size() - 1;
  size_t at = hash & mask;
  while (slots_[at].id != kNoText) {
    if (slots_[at].hash == hash) {
      const std::string_view known = texts_[slots_[at].id];
      if (known.size() == text.size() && SameBytes(known.data(), text.data(), text.size())) {
        return at;
      }
    }
    at = (at + 1) & mask;
  }
  return at;
}

TextId StringTable::Find(std::string_view text) const {
  return slots_[SlotOf(HashText(text), text)].id;
}

// A few texts come again and again: they need no hash of all their bytes.
TextId StringTable::Intern(std::string_view text) {
  TextId& recent = recent_[RecentSlot(text)];
  if (recent != kNoText) {
    const std::string_view known = texts_[recent];
    if (known.size() == text.size() && SameBytes(known.data(), text.data(), text.size())) {
      return recent;
    }
  }
  return recent = InternAny(text);
}

TextId StringTable::InternAny(std::string_view text) {
  const uint64_t hash = HashText(text);
  size_t at = SlotOf(hash, text);
  if (slots_[at].id != kNoText) return slots_[at].id;
  if (storage_.empty() || text.size() > room_) {
    room_ = std::max(kBlock, text.size());
    storage_.emplace_back().reserve(room_);
  }
  std::string& block = storage_.back();
  const size_t offset = block.size();
  block.append(text);
  room_ -= text.size();
  const auto id = static_cast<TextId>(texts_.size());
  texts_.emplace_back(block.data() + offset, text.size());
  slots_[at] = {hash, id};
  if (texts_.size() * 2 > slots_.size()) Rehash();
  return id;
}

void StringTable::Rehash() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id == kNoText) continue;
    size_t at = slot.hash & mask;
    while (slots_[at].id != kNoText) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace roofmark::trace
