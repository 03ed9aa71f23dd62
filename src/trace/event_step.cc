// SPDX-License-Identifier: Apache-2.0
// A value is found within 64 bytes of where it begins, mostly, by comparing all of them at once.
#include "trace/event_step.h"

#include <immintrin.h>

#include <bit>

#include "trace/char_scan.h"

#define ROOFMARK_AVX512 __attribute__((target("avx512bw,avx512f,pclmul,bmi,bmi2")))

namespace roofmark::trace {
namespace {

constexpr std::array<std::string_view EventFields::*, 15> kFields = {
    nullptr,
    &EventFields::name,
    &EventFields::pid,
    &EventFields::tid,
    &EventFields::ts,
    &EventFields::dur,
    &EventFields::external_id,
    &EventFields::correlation,
    &EventFields::device,
    &EventFields::stream,
    &EventFields::dims,
    &EventFields::types,
    &EventFields::concrete,
    &EventFields::record,
    &EventFields::kernel,
};

inline void Give(FieldUse use, std::string_view value, EventFields& fields) {
  const auto field = static_cast<size_t>(use);
  if (field < kFields.size() && kFields[field] != nullptr) fields.*kFields[field] = value;
}

// A position in an event; every function moves it behind what it reads.
struct Hop {
  const char* text;
  size_t size;
  size_t at = 0;
};

// The bits below the lowest one.
inline uint64_t Below(uint64_t bits) {
  return (bits & -bits) - 1;
}

// Bytes that usual texts have not: control characters, what is not ASCII, backslashes.
ROOFMARK_AVX512 inline uint64_t Unusual(__m512i bytes) {
  return _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(' ')) |
         _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\'));
}

// Of the string here, without its quotes.
ROOFMARK_AVX512 inline bool HopString(Hop& hop, std::string_view& value) {
  const size_t begin = hop.at + 1;
  for (size_t at = begin; at < hop.size; at += kScanBlock) {
    const __m512i bytes = _mm512_loadu_si512(hop.text + at);
    const uint64_t quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    const uint64_t unusual = Unusual(bytes);
    if (quotes != 0) {
      const size_t end = at + static_cast<size_t>(std::countr_zero(quotes));
      value = {hop.text + begin, end - begin};
      hop.at = end + 1;
      return (unusual & Below(quotes)) == 0;
    }
    if (unusual != 0) return false;
  }
  return false;
}

ROOFMARK_AVX512 inline bool HopWord(Hop& hop, std::string_view& value) {
  const __m512i bytes = _mm512_loadu_si512(hop.text + hop.at);
  const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
  const uint64_t stops = _mm512_cmple_epi8_mask(bytes, _mm512_set1_epi8(',')) |
                         _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(':')) |
                         _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')) |
                         _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}'));
  const auto size = static_cast<size_t>(std::countr_zero(stops));
  value = {hop.text + hop.at, size};
  hop.at += size;
  return size > 0 && size < kScanBlock;
}

// Of the list or object here, with its brackets.
ROOFMARK_AVX512 inline bool HopList(Hop& hop, std::string_view& value) {
  size_t depth = 0;
  uint64_t in_string = 0;
  for (size_t at = hop.at; at < hop.size; at += kScanBlock) {
    const __m512i bytes = _mm512_loadu_si512(hop.text + at);
    const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    const uint64_t quotes = _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"'));
    const __m128i prefix =
        _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(quotes)), _mm_set1_epi8(-1), 0);
    const uint64_t inside = static_cast<uint64_t>(_mm_cvtsi128_si64(prefix)) ^ in_string;
    const uint64_t open = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')) & ~inside;
    const uint64_t close = _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}')) & ~inside;
    size_t end = at == hop.at ? FlatListEnd(open, close) : kScanBlock;
    if (end == kScanBlock) {
      for (uint64_t bits = open | close; bits != 0; bits &= bits - 1) {
        const int bit = std::countr_zero(bits);
        depth += open >> bit & 1;
        depth -= close >> bit & 1;
        if (depth != 0) continue;
        end = static_cast<size_t>(bit);
        break;
      }
    }
    const uint64_t part = end == kScanBlock ? ~uint64_t{0} : (uint64_t{1} << end) - 1;
    if ((Unusual(bytes) & part) != 0) return false;
    if (end < kScanBlock) {
      value = {hop.text + hop.at, at + end + 1 - hop.at};
      hop.at = at + end + 1;
      return true;
    }
    in_string = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
  }
  return false;
}

ROOFMARK_AVX512 inline bool HopValue(Hop& hop, FieldUse use, EventFields& fields) {
  if (hop.at >= hop.size) return false;
  const char first = hop.text[hop.at];
  const bool list = first == '[' || first == '{';
  std::string_view value;
  if (list ? !HopList(hop, value) : !(first == '"' ? HopString(hop, value) : HopWord(hop, value))) {
    return false;
  }
  if (hop.at >= hop.size) return false;
  if (use == FieldUse::kNone) return true;
  if (list != WantsList(use)) return !list;  // a text says nothing where a list is asked for
  if (first == '{') return true;
  Give(use, value, fields);
  return true;
}

ROOFMARK_AVX512 inline bool HasText(const char* text, const EventStep& step) {
  const uint64_t part = _bzhi_u64(~uint64_t{0}, step.size);
  return _mm512_mask_cmpneq_epi8_mask(part, _mm512_loadu_si512(text),
                                      _mm512_loadu_si512(step.text.data())) == 0;
}

// Requires: kScanBlock readable bytes behind both.
ROOFMARK_AVX512 inline bool SameBytes(const char* a, const char* b, size_t size) {
  size_t at = 0;
  for (; at + kScanBlock <= size; at += kScanBlock) {
    if (_mm512_cmpneq_epi8_mask(_mm512_loadu_si512(a + at), _mm512_loadu_si512(b + at)) != 0) {
      return false;
    }
  }
  const uint64_t part = (uint64_t{1} << (size - at)) - 1;
  return _mm512_mask_cmpneq_epi8_mask(part, _mm512_loadu_si512(a + at),
                                      _mm512_loadu_si512(b + at)) == 0;
}

// The first lists of an event that stand side by side, but for texts between them.
struct ListRun {
  enum class State { kNone, kOpen, kClosed, kKnown };
  State state = State::kNone;
  uint64_t tag = 0;
  size_t begin = 0;
  size_t end = 0;
  uint16_t step = 0;
  uint16_t next = 0;
};

// Before the value of a step. True where the lists from here on are known, and have been passed.
ROOFMARK_AVX512 inline bool HopLists(Hop& hop, const EventStep& step, uint16_t number,
                                     KnownLists& known, ListRun& run, EventFields& fields) {
  const bool list = hop.at < hop.size && hop.text[hop.at] == '[';
  if (run.state == ListRun::State::kOpen && (!list || step.fixed_count > 0)) {
    run.state = ListRun::State::kClosed;
  }
  if (!list || !WantsList(step.use)) return false;
  if (run.state == ListRun::State::kKnown) fields.lists = 0;  // there are more
  const std::string_view rest(hop.text + hop.at, hop.size - hop.at);
  if (run.state != ListRun::State::kNone || rest.size() < KnownLists::kLeast) return false;
  run = {.state = ListRun::State::kOpen,
         .tag = KnownLists::TagOf(rest, number),
         .begin = hop.at,
         .step = number};
  const KnownLists::Entry& entry = known.EntryOf(run.tag);
  if (entry.number == 0 || entry.tag != run.tag || entry.step != number ||
      entry.size >= rest.size() || !SameBytes(rest.data(), entry.text.data(), entry.size)) {
    return false;
  }
  run.state = ListRun::State::kKnown;
  run.next = entry.next;
  fields.dims = entry.dims;
  fields.types = entry.types;
  fields.concrete = entry.concrete;
  fields.lists = entry.number;
  hop.at += entry.size;
  return true;
}

ROOFMARK_AVX512 bool HopEventAvx512(const EventStep* steps, uint16_t first, std::string_view event,
                                    KnownLists& known, EventFields& fields) {
  Hop hop{.text = event.data(), .size = event.size()};
  ListRun run;
  uint16_t number = first;
  while (true) {
    const char* const here = hop.text + hop.at;
    while (!HasText(here, steps[number])) {
      number = steps[number].other;
      if (number == 0) return false;
    }
    const EventStep& step = steps[number];
    hop.at += step.size;
    if (hop.at > hop.size) return false;
    for (size_t i = 0; i < step.fixed_count; ++i) {
      const FixedValue& fixed = step.fixed[i];
      Give(fixed.use, {here + fixed.begin, fixed.size}, fields);
    }
    if (step.use == FieldUse::kEnd) break;
    if (HopLists(hop, step, number, known, run, fields)) {
      number = run.next;
      continue;
    }
    if (!HopValue(hop, step.use, fields) || step.next == 0) return false;
    if (run.state == ListRun::State::kOpen) {
      run.end = hop.at;
      run.next = step.next;
    }
    number = step.next;
  }
  if (hop.at != hop.size) return false;
  if (run.state == ListRun::State::kOpen || run.state == ListRun::State::kClosed) {
    known.Learn(run.tag, run.step, run.next, event.substr(run.begin, run.end - run.begin), fields);
  }
  return true;
}

}  // namespace

std::string_view EventFields::* FieldOf(FieldUse use) {
  const auto field = static_cast<size_t>(use);
  return field < kFields.size() ? kFields[field] : nullptr;
}

size_t FlatListEnd(uint64_t open, uint64_t close) {
  if (close != 0 && (open & Below(close)) == 1) {
    return static_cast<size_t>(std::countr_zero(close));
  }
  const uint64_t pairs = close & close << 1;
  // Every other bracket that closes is followed by ", [", and every one that opens by "], ".
  const bool lists = pairs != 0 && (open & 3) == 3 &&
                     ((close & Below(pairs) >> 1) & ~(open >> 3)) == 0 &&
                     ((open & Below(pairs) & ~uint64_t{3}) & ~(close << 3)) == 0;
  return lists ? static_cast<size_t>(std::countr_zero(pairs)) : kScanBlock;
}

bool CanHop() {
  static const bool can = __builtin_cpu_supports("avx512bw") != 0 &&
                          __builtin_cpu_supports("pclmul") != 0 &&
                          __builtin_cpu_supports("bmi") != 0 && __builtin_cpu_supports("bmi2") != 0;
  return can;
}

bool HopEvent(const std::vector<EventStep>& steps, uint16_t first, std::string_view event,
              KnownLists& known, EventFields& fields) {
  return HopEventAvx512(steps.data(), first, event, known, fields);
}

}  // namespace roofmark::trace
