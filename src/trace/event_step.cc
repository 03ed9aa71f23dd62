// SPDX-License-Identifier: Apache-2.0
// A value is found within 64 bytes of where it begins, mostly, by comparing all of them at once.
#include "trace/event_step.h"

#include <immintrin.h>

#include <bit>

#include "trace/char_scan.h"

#define ROOFMARK_AVX512 __attribute__((target("avx512bw,avx512f,pclmul")))

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
  if (const auto field = FieldOf(use)) fields.*field = value;
  return true;
}

ROOFMARK_AVX512 inline bool HasText(const char* text, const EventStep& step) {
  const uint64_t part = step.size == kScanBlock ? ~uint64_t{0} : (uint64_t{1} << step.size) - 1;
  return _mm512_mask_cmpneq_epi8_mask(part, _mm512_loadu_si512(text),
                                      _mm512_loadu_si512(step.text.data())) == 0;
}

ROOFMARK_AVX512 bool HopEventAvx512(const EventStep* steps, uint16_t first, std::string_view event,
                                    EventFields& fields) {
  Hop hop{.text = event.data(), .size = event.size()};
  const EventStep* step = steps + first;
  while (true) {
    const char* const here = hop.text + hop.at;
    while (!HasText(here, *step)) {
      if (step->other == 0) return false;
      step = steps + step->other;
    }
    hop.at += step->size;
    if (hop.at > hop.size) return false;
    for (size_t i = 0; i < step->fixed_count; ++i) {
      const FixedValue& fixed = step->fixed[i];
      if (const auto field = FieldOf(fixed.use)) fields.*field = {here + fixed.begin, fixed.size};
    }
    if (step->use == FieldUse::kEnd) return hop.at == hop.size;
    if (!HopValue(hop, step->use, fields) || step->next == 0) return false;
    step = steps + step->next;
  }
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
  static const bool can =
      __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("pclmul") != 0;
  return can;
}

bool HopEvent(const std::vector<EventStep>& steps, uint16_t first, std::string_view event,
              EventFields& fields) {
  return HopEventAvx512(steps.data(), first, event, fields);
}

}  // namespace roofmark::trace
