// SPDX-License-Identifier: Apache-2.0
// Each distinct text once, with a small number for it: profiles repeat a few hundred names and
// shapes some hundred thousand times.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark::trace {

using TextId = uint32_t;
inline constexpr TextId kNoText = UINT32_MAX;

// Not cryptographic; the same on every machine.
uint64_t HashText(std::string_view text);

class StringTable {
 public:
  StringTable();
  StringTable(StringTable&&) = default;
  StringTable& operator=(StringTable&&) = default;

  // Texts are bytes: equality is by bytes, whatever their encoding.
  TextId Intern(std::string_view text);
  // kNoText where it was never interned.
  TextId Find(std::string_view text) const;
  std::string_view Text(TextId id) const { return texts_[id]; }
  size_t size() const { return texts_.size(); }

 private:
  struct Slot {
    uint64_t hash = 0;
    TextId id = kNoText;
  };
  size_t SlotOf(uint64_t hash, std::string_view text) const;
  TextId InternAny(std::string_view text);
  void Rehash();

  std::vector<std::string_view> texts_;
  std::deque<std::string> storage_;
  size_t room_ = 0;  // left in the last element of storage_
  std::vector<Slot> slots_;
  std::array<TextId, 256> recent_;  // by what is quick to tell of a text
};

}  // namespace roofmark::trace
