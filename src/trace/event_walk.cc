// SPDX-License-Identifier: Apache-2.0
// One pass makes bit masks of the quotes and brackets, so that values are hopped over and not read.
#include "trace/event_walk.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "trace/char_scan.h"

namespace roofmark::trace {
namespace {

constexpr size_t kMaxSize = 8 << 10;
constexpr size_t kMaxBlocks = kMaxSize / kScanBlock;
constexpr size_t kNone = SIZE_MAX;
// Profiles have some twenty layouts of up to twenty members; tools that shuffle members have more,
// and are not learnt whole.
constexpr size_t kMaxSteps = 512;
constexpr size_t kMaxOthers = 12;
constexpr size_t kMaxVarying = 64;
constexpr size_t kMaxMembers = 64;

struct UseOfKey {
  std::string_view key;
  FieldUse use;
};
constexpr std::array<UseOfKey, 8> kOfEvent = {{{"ph", FieldUse::kHead},
                                               {"cat", FieldUse::kHead},
                                               {"name", FieldUse::kName},
                                               {"pid", FieldUse::kPid},
                                               {"tid", FieldUse::kTid},
                                               {"ts", FieldUse::kTs},
                                               {"dur", FieldUse::kDur},
                                               {"args", FieldUse::kArgs}}};
constexpr std::array<UseOfKey, 11> kOfArgs = {{{"External id", FieldUse::kExternalId},
                                               {"external id", FieldUse::kExternalId},
                                               {"correlation", FieldUse::kCorrelation},
                                               {"device", FieldUse::kDevice},
                                               {"stream", FieldUse::kStream},
                                               {"Input Dims", FieldUse::kDims},
                                               {"Input dims", FieldUse::kDims},
                                               {"Input type", FieldUse::kTypes},
                                               {"Concrete Inputs", FieldUse::kConcrete},
                                               {"Record function id", FieldUse::kRecord},
                                               {"kernel", FieldUse::kKernel}}};

FieldUse UseOf(std::string_view key, bool argument) {
  const auto find = [&](const auto& uses) {
    const auto found = std::ranges::find(uses, key, &UseOfKey::key);
    return found == uses.end() ? FieldUse::kNone : found->use;
  };
  return argument ? find(kOfArgs) : find(kOfEvent);
}

bool IsSpace(char byte) {
  return byte == ' ' || byte == '\n';
}

// Values that are the same in many events, such as the thread.
bool MayBeFixed(FieldUse use) {
  return use == FieldUse::kNone || use == FieldUse::kHead || use == FieldUse::kPid ||
         use == FieldUse::kTid || use == FieldUse::kDevice || use == FieldUse::kStream;
}

}  // namespace

// A position in one event.
class UsualEvents::Walker {
 public:
  struct Member {
    std::string_view text;   // before the value
    std::string_view value;  // as written
    FieldUse use;
  };

  Walker(std::string_view event, const EventMasks* masks, EventFields& fields)
      : text_(event.data()), size_(event.size()), masks_(masks), fields_(fields) {}

  const char* here() const { return text_ + at_; }
  size_t left() const { return size_ - at_; }
  void Advance(size_t count) { at_ += count; }
  void Restart() {
    at_ = 0;
    fields_ = {};
  }

  // Reads the value here; false where it is not what such a value usually is.
  bool Take(FieldUse use) {
    if (at_ >= size_) return false;
    const char first = text_[at_];
    size_t begin = at_;
    size_t end = 0;
    if (first == '"') {
      ++begin;
      end = Next(&EventMasks::quote, begin);
      if (end >= size_) return false;
      at_ = end + 1;
      if (WantsList(use)) return true;  // a text says nothing there
    } else if (first == '[' || first == '{') {
      end = Matching();
      if (end >= size_) return false;
      at_ = ++end;
      if (use == FieldUse::kNone) return true;
      if (!WantsList(use)) return false;
      if (first == '{') return true;
    } else {
      end = Next(&EventMasks::stop, at_);
      if (end >= size_ || end == begin) return false;
      at_ = end;
      if (WantsList(use)) return true;
    }
    Give(use, begin, end - begin);
    return true;
  }

  // Sets the field of that use.
  void Give(FieldUse use, size_t begin, size_t size) {
    if (const auto field = FieldOf(use)) fields_.*field = {text_ + begin, size};
  }
  size_t at() const { return at_; }

  using MemberList = std::array<Member, kMaxMembers>;
  // Reads the whole event, and notes its members.
  bool Walk(MemberList& members) {
    members_ = &members;
    note_from_ = at_;
    if (!Members(false) || at_ != size_) return false;
    Note(FieldUse::kEnd, at_);
    return true;
  }
  // More than kMaxMembers say that they are not all here.
  size_t member_count() const { return count_; }
  const Member& member(size_t at) const { return (*members_)[at]; }

 private:
  // Reads an object from its '{' to behind its '}'.
  bool Members(bool arguments) {
    ++at_;
    SkipSpace();
    if (left() > 0 && text_[at_] == '}') {
      ++at_;
      return true;
    }
    while (left() > 0 && text_[at_] == '"') {
      const size_t end = Next(&EventMasks::quote, at_ + 1);
      if (end + 1 >= size_ || text_[end + 1] != ':') return false;
      const FieldUse use = UseOf({text_ + at_ + 1, end - at_ - 1}, arguments);
      at_ = end + 2;
      SkipSpace();
      if (left() == 0) return false;
      if (use == FieldUse::kArgs && text_[at_] == '{') {
        if (!Members(true)) return false;
      } else {
        const size_t begin = at_;
        if (!Take(use)) return false;
        Note(use, begin);
      }
      SkipSpace();
      if (left() == 0) return false;
      const char byte = text_[at_++];
      if (byte == '}') return true;
      if (byte != ',') return false;
      SkipSpace();
    }
    return false;
  }

  // A member whose value began there and ends here.
  void Note(FieldUse use, size_t begin) {
    if (count_ < members_->size()) {
      (*members_)[count_] = {
          {text_ + note_from_, begin - note_from_}, {text_ + begin, at_ - begin}, use};
    }
    ++count_;
    note_from_ = at_;
  }

  void SkipSpace() {
    while (at_ < size_ && IsSpace(text_[at_])) ++at_;
  }

  size_t Blocks() const { return (size_ + kScanBlock - 1) / kScanBlock; }

  // The first bit of a mask at or after `from`; at least size_ where there is none. Nearly always
  // it is within 64 bytes, so that many are looked at together.
  size_t Next(uint64_t EventMasks::* mask, size_t from) const {
    size_t block = from / kScanBlock;
    const size_t shift = from % kScanBlock;
    if (block >= Blocks()) return kNone;
    const uint64_t near = masks_[block].*mask >> shift | masks_[block + 1].*mask
                                                             << 1 << (kScanBlock - 1 - shift);
    if (near != 0) return from + static_cast<size_t>(std::countr_zero(near));
    while (++block < Blocks()) {
      const uint64_t bits = masks_[block].*mask;
      if (bits != 0) return block * kScanBlock + static_cast<size_t>(std::countr_zero(bits));
    }
    return kNone;
  }

  // The 64 bits of a mask from `from` on. Requires: it is in a block.
  uint64_t Near(uint64_t EventMasks::* mask, size_t from) const {
    const EventMasks* const block = masks_ + from / kScanBlock;
    const size_t shift = from % kScanBlock;
    return block[0].*mask >> shift | block[1].*mask << 1 << (kScanBlock - 1 - shift);
  }

  // kNone for lists that are not flat and for long ones.
  size_t MatchingFlat() const {
    const size_t end = FlatListEnd(Near(&EventMasks::open, at_), Near(&EventMasks::close, at_));
    return end < kScanBlock ? at_ + end : kNone;
  }

  // The bracket that closes the one here; of whatever kind, as EventParser counts too.
  size_t Matching() const {
    if (const size_t end = MatchingFlat(); end != kNone) return end;
    size_t depth = 0;
    size_t block = at_ / kScanBlock;
    uint64_t cut = ~uint64_t{0} << (at_ % kScanBlock);
    for (; block < Blocks(); ++block, cut = ~uint64_t{0}) {
      const EventMasks& masks = masks_[block];
      for (uint64_t bits = (masks.open | masks.close) & cut; bits != 0; bits &= bits - 1) {
        const int bit = std::countr_zero(bits);
        depth += masks.open >> bit & 1;
        depth -= masks.close >> bit & 1;
        if (depth == 0) return block * kScanBlock + static_cast<size_t>(bit);
      }
    }
    return kNone;
  }

  const char* text_;
  size_t size_;
  const EventMasks* masks_;
  EventFields& fields_;
  size_t at_ = 0;
  size_t note_from_ = 0;
  size_t count_ = 0;
  MemberList* members_ = nullptr;
};

namespace {

// Compares 16 bytes at a time. Requires: 64 readable bytes at `text`.
bool Matches(const char* text, const char* want, const char* mask, size_t size) {
  const auto load = [](const char* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  };
  for (size_t at = 0; at < size; at += 16) {
    const __m128i unlike =
        _mm_and_si128(_mm_xor_si128(load(text + at), load(want + at)), load(mask + at));
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(unlike, _mm_setzero_si128())) != 0xFFFF) return false;
  }
  return true;
}

}  // namespace

bool UsualEvents::Follow(Walker& walker, uint16_t first) const {
  if (first == 0) return false;
  const Step* step = &steps_[first];
  while (true) {
    while (!Matches(walker.here(), step->text.data(), step->mask.data(), step->size)) {
      if (step->other == 0) return false;
      step = &steps_[step->other];
    }
    if (step->size > walker.left()) return false;
    for (size_t i = 0; i < step->fixed_count; ++i) {
      const FixedValue& fixed = step->fixed[i];
      walker.Give(fixed.use, walker.at() + fixed.begin, fixed.size);
    }
    walker.Advance(step->size);
    if (step->use == FieldUse::kEnd) return walker.left() == 0;
    if (!walker.Take(step->use) || step->next == 0) return false;
    step = &steps_[step->next];
  }
}

bool UsualEvents::Varies(std::string_view before) const {
  return std::ranges::find(varying_, before) != varying_.end();
}

// Values that may be fixed become part of the text, as long as it has room.
UsualEvents::Step UsualEvents::MakeStep(const Walker& walker, size_t& at) const {
  Step step;
  const auto append = [&](std::string_view text) {
    std::ranges::copy(text, step.text.data() + step.size);
    step.size = static_cast<uint8_t>(step.size + text.size());
  };
  append(walker.member(at).text);
  for (; at + 1 < walker.member_count(); ++at) {
    const Walker::Member& member = walker.member(at);
    const std::string_view next = walker.member(at + 1).text;
    const bool word = !member.value.starts_with('[') && !member.value.starts_with('{');
    if (!MayBeFixed(member.use) || !word || step.fixed_count == kMaxFixed ||
        step.size + member.value.size() + next.size() > kMaxStepText || Varies(member.text)) {
      break;
    }
    const size_t quote = member.value.starts_with('"') ? 1 : 0;
    step.fixed[step.fixed_count++] = {member.use, static_cast<uint8_t>(step.size + quote),
                                      static_cast<uint8_t>(member.value.size() - 2 * quote),
                                      static_cast<uint8_t>(step.size - member.text.size())};
    append(member.value);
    append(next);
  }
  step.use = walker.member(at).use;
  std::fill_n(step.mask.data(), step.size, '\xff');
  return step;
}

bool UsualEvents::NoteVarying(const Step& one, const Step& other) {
  for (size_t i = 0; i < std::min(one.fixed_count, other.fixed_count); ++i) {
    const FixedValue& a = one.fixed[i];
    const FixedValue& b = other.fixed[i];
    if (a.begin != b.begin || one.view().substr(0, a.begin) != other.view().substr(0, a.begin)) {
      return false;
    }
    if (one.view().substr(a.begin, a.size) == other.view().substr(b.begin, b.size)) continue;
    if (a.use == FieldUse::kHead || varying_.size() == kMaxVarying) return false;
    const size_t quote = one.text[a.begin - 1U] == '"' ? 1 : 0;
    varying_.emplace_back(one.view().substr(a.member, a.begin - quote - a.member));
    return true;
  }
  return false;
}

// Adds what is new in the event's members; a layout is a path from the first step.
void UsualEvents::Learn(const Walker& walker, uint16_t& first) {
  const size_t count = walker.member_count();
  if (count > kMaxMembers || steps_.size() + count > kMaxSteps) return;
  for (size_t at = 0; at < count; ++at) {
    if (walker.member(at).text.size() > kMaxStepText) return;
  }
  size_t before = 0;  // the step behind whose value we are
  for (size_t member = 0; member < count; ++member) {
    const Step step = MakeStep(walker, member);
    size_t at = before == 0 ? first : steps_[before].next;
    size_t last = 0;
    size_t others = 0;
    for (; at != 0 && !(steps_[at].view() == step.view() && steps_[at].use == step.use);
         at = steps_[at].other) {
      if (NoteVarying(steps_[at], step)) {
        // All is learnt again without that value.
        steps_.resize(1);
        first_ = {};
        known_.Forget();
        return;
      }
      last = at;
      ++others;
    }
    if (at == 0) {
      if (others > kMaxOthers) return;
      at = steps_.size();
      const auto made = static_cast<uint16_t>(at);
      steps_.push_back(step);
      (last != 0 ? steps_[last].other : before != 0 ? steps_[before].next : first) = made;
    }
    before = at;
  }
}

bool UsualEvents::Read(std::string_view event, Category category, EventFields& fields) {
  if (event.size() > kMaxSize || event.empty() || event.front() != '{') return false;
  uint16_t& first = first_[static_cast<size_t>(category)];
  if (first != 0 && hop_) {
    if (HopEvent(steps_, first, event, known_, fields)) return true;
    fields = {};
  }
  std::array<EventMasks, kMaxBlocks + 1> masks;  // NOLINT: ScanEvent writes what is read
  if (!ScanEvent(event.data(), event.size(), masks.data())) return false;
  masks[(event.size() + kScanBlock - 1) / kScanBlock] = {};
  Walker walker(event, masks.data(), fields);
  if (Follow(walker, first)) return true;
  walker.Restart();
  Walker::MemberList members;
  if (!walker.Walk(members)) return false;
  Learn(walker, first);
  return true;
}

}  // namespace roofmark::trace
