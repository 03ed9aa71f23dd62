// SPDX-License-Identifier: Apache-2.0
// Four comparisons a block give bit masks; escapes and strings are then solved on whole words.
// Source of the word tricks: Langdale and Lemire, "Parsing Gigabytes of JSON per Second", VLDB
// Journal 28 (2019), section 3.1.
#include "trace/char_scan.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>

#define ROOFMARK_CLMUL __attribute__((target("pclmul")))
#define ROOFMARK_AVX2 __attribute__((target("avx2,pclmul,bmi,popcnt")))
#define ROOFMARK_AVX512 __attribute__((target("avx512bw,avx512f,pclmul,bmi,popcnt")))

namespace roofmark::trace {
namespace {

struct RawMasks {
  uint64_t quote;
  uint64_t backslash;
  uint64_t open;
  uint64_t close;
};

// Bit i is the parity of the bits 0..i: ones from each opening quote up to before its closing one.
uint64_t PrefixXor(uint64_t bits) {
  for (int shift = 1; shift < 64; shift <<= 1) bits ^= bits << shift;
  return bits;
}

// The same by one instruction: a product without carries by all ones.
ROOFMARK_CLMUL inline uint64_t PrefixXorAtOnce(uint64_t bits) {
  const __m128i product =
      _mm_clmulepi64_si128(_mm_set_epi64x(0, static_cast<int64_t>(bits)), _mm_set1_epi8(-1), 0);
  return static_cast<uint64_t>(_mm_cvtsi128_si64(product));
}

// The bytes that a backslash escapes. Backslashes are rare, so one bit at a time will do.
uint64_t EscapedBytes(uint64_t backslash, uint64_t& carry) {
  uint64_t escaped = carry;
  carry = 0;
  backslash &= ~escaped;
  while (backslash != 0) {
    const int at = std::countr_zero(backslash);
    if (at == 63) {
      carry = 1;
      break;
    }
    const uint64_t next = uint64_t{1} << (at + 1);
    escaped |= next;
    backslash &= ~(next | (uint64_t{1} << at));
  }
  return escaped;
}

// Those of the quotes that are not escaped.
inline uint64_t RealQuotes(uint64_t quote, uint64_t backslash, ScanState& state) {
  if ((backslash | state.escaped) == 0) return quote;
  return quote & ~EscapedBytes(backslash, state.escaped);
}

// The bytes of strings, of those as far as this block tells, and whether one goes on behind it.
inline uint64_t InStrings(uint64_t inside, ScanState& state) {
  inside ^= state.in_string;
  state.in_string = static_cast<uint64_t>(static_cast<int64_t>(inside) >> 63);
  return inside;
}

inline BraceMasks Outside(const RawMasks& raw, uint64_t inside, ScanState& state) {
  inside = InStrings(inside, state);
  return {raw.open & ~inside, raw.close & ~inside};
}

inline uint64_t EqualSse2(const __m128i (&part)[4], char byte) {
  const __m128i wanted = _mm_set1_epi8(byte);
  uint64_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(part[i], wanted)));
    mask |= uint64_t{bits} << (16 * i);
  }
  return mask;
}

void ScanSse2(const char* text, size_t blocks, ScanState& state, BraceMasks* masks) {
  for (size_t block = 0; block < blocks; ++block, text += kScanBlock) {
    const auto* at = reinterpret_cast<const __m128i*>(text);
    const __m128i part[4] = {_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2),
                             _mm_loadu_si128(at + 3)};
    RawMasks raw{EqualSse2(part, '"'), EqualSse2(part, '\\'), EqualSse2(part, '{'),
                 EqualSse2(part, '}')};
    raw.quote = RealQuotes(raw.quote, raw.backslash, state);
    masks[block] = Outside(raw, PrefixXor(raw.quote), state);
  }
}

ROOFMARK_AVX2 inline uint64_t EqualAvx2(__m256i low, __m256i high, char byte) {
  const __m256i wanted = _mm256_set1_epi8(byte);
  const auto a = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, wanted)));
  const auto b = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, wanted)));
  return uint64_t{b} << 32 | a;
}

ROOFMARK_AVX2 void ScanAvx2(const char* text, size_t blocks, ScanState& state, BraceMasks* masks) {
  for (size_t block = 0; block < blocks; ++block, text += kScanBlock) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + 32));
    RawMasks raw{EqualAvx2(low, high, '"'), EqualAvx2(low, high, '\\'), EqualAvx2(low, high, '{'),
                 EqualAvx2(low, high, '}')};
    raw.quote = RealQuotes(raw.quote, raw.backslash, state);
    masks[block] = Outside(raw, PrefixXorAtOnce(raw.quote), state);
  }
}

ROOFMARK_AVX512 void ScanAvx512(const char* text, size_t blocks, ScanState& state,
                                BraceMasks* masks) {
  for (size_t block = 0; block < blocks; ++block, text += kScanBlock) {
    const __m512i bytes = _mm512_loadu_si512(text);
    RawMasks raw{_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('{')),
                 _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('}'))};
    raw.quote = RealQuotes(raw.quote, raw.backslash, state);
    masks[block] = Outside(raw, PrefixXorAtOnce(raw.quote), state);
  }
}

// The same of one event. Unusual are control characters and, having the top bit, what is not ASCII.
struct RawEventMasks {
  uint64_t quote;
  uint64_t backslash;
  uint64_t open;   // [ and {, which differ in one bit
  uint64_t close;  // ] and }
  uint64_t unusual;
  uint64_t line_break;
  uint64_t space;
  uint64_t comma;
  uint64_t colon;
};

inline uint64_t Bits(size_t count) {
  return count >= kScanBlock ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Adds one block; `inside` are the bytes of its strings, as far as this block tells.
inline bool KeepBlock(const RawEventMasks& raw, uint64_t quote, uint64_t inside, uint64_t valid,
                      ScanState& state, EventMasks& masks) {
  inside = InStrings(inside, state);
  const uint64_t stop = raw.quote | raw.open | raw.close | raw.space | raw.line_break | raw.comma;
  masks = {quote, raw.open & ~inside & valid, raw.close & ~inside & valid, stop | raw.colon};
  return (raw.unusual & ~(raw.line_break & ~inside) & valid) == 0;
}

inline uint64_t LessSse2(const __m128i (&part)[4], char byte) {
  const __m128i limit = _mm_set1_epi8(byte);
  uint64_t mask = 0;
  for (int i = 0; i < 4; ++i) {
    const auto bits = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmplt_epi8(part[i], limit)));
    mask |= uint64_t{bits} << (16 * i);
  }
  return mask;
}

bool ScanEventSse2(const char* text, size_t size, EventMasks* masks) {
  ScanState state;
  bool usual = true;
  for (size_t from = 0; from < size && usual; from += kScanBlock) {
    const auto* at = reinterpret_cast<const __m128i*>(text + from);
    const __m128i part[4] = {_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2),
                             _mm_loadu_si128(at + 3)};
    const __m128i bit = _mm_set1_epi8(0x20);
    const __m128i folded[4] = {_mm_or_si128(part[0], bit), _mm_or_si128(part[1], bit),
                               _mm_or_si128(part[2], bit), _mm_or_si128(part[3], bit)};
    const RawEventMasks raw{EqualSse2(part, '"'),   EqualSse2(part, '\\'), EqualSse2(folded, '{'),
                            EqualSse2(folded, '}'), LessSse2(part, ' '),   EqualSse2(part, '\n'),
                            EqualSse2(part, ' '),   EqualSse2(part, ','),  EqualSse2(part, ':')};
    const uint64_t valid = Bits(size - from);
    const uint64_t quote = RealQuotes(raw.quote & valid, raw.backslash, state);
    usual = KeepBlock(raw, quote, PrefixXor(quote), valid, state, masks[from / kScanBlock]);
  }
  return usual && state.in_string == 0;
}

ROOFMARK_AVX2 bool ScanEventAvx2(const char* text, size_t size, EventMasks* masks) {
  ScanState state;
  bool usual = true;
  for (size_t from = 0; from < size && usual; from += kScanBlock) {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + from));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(text + from + 32));
    const __m256i bit = _mm256_set1_epi8(0x20);
    const __m256i folded_low = _mm256_or_si256(low, bit);
    const __m256i folded_high = _mm256_or_si256(high, bit);
    const __m256i space = _mm256_set1_epi8(' ');
    const auto less_low =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(space, low)));
    const auto less_high =
        static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi8(space, high)));
    const RawEventMasks raw{EqualAvx2(low, high, '"'),
                            EqualAvx2(low, high, '\\'),
                            EqualAvx2(folded_low, folded_high, '{'),
                            EqualAvx2(folded_low, folded_high, '}'),
                            uint64_t{less_high} << 32 | less_low,
                            EqualAvx2(low, high, '\n'),
                            EqualAvx2(low, high, ' '),
                            EqualAvx2(low, high, ','),
                            EqualAvx2(low, high, ':')};
    const uint64_t valid = Bits(size - from);
    const uint64_t quote = RealQuotes(raw.quote & valid, raw.backslash, state);
    usual = KeepBlock(raw, quote, PrefixXorAtOnce(quote), valid, state, masks[from / kScanBlock]);
  }
  return usual && state.in_string == 0;
}

ROOFMARK_AVX512 bool ScanEventAvx512(const char* text, size_t size, EventMasks* masks) {
  ScanState state;
  bool usual = true;
  for (size_t from = 0; from < size && usual; from += kScanBlock) {
    const __m512i bytes = _mm512_loadu_si512(text + from);
    const __m512i folded = _mm512_or_si512(bytes, _mm512_set1_epi8(0x20));
    const RawEventMasks raw{_mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('"')),
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\\')),
                            _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('{')),
                            _mm512_cmpeq_epi8_mask(folded, _mm512_set1_epi8('}')),
                            _mm512_cmplt_epi8_mask(bytes, _mm512_set1_epi8(' ')),
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8('\n')),
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(' ')),
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(',')),
                            _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(':'))};
    const uint64_t valid = Bits(size - from);
    const uint64_t quote = RealQuotes(raw.quote & valid, raw.backslash, state);
    usual = KeepBlock(raw, quote, PrefixXorAtOnce(quote), valid, state, masks[from / kScanBlock]);
  }
  return usual && state.in_string == 0;
}

using ScanFunction = void (*)(const char*, size_t, ScanState&, BraceMasks*);

ScanFunction ScanFor(ScanIsa isa) {
  const bool words = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("popcnt");
  switch (isa) {
    case ScanIsa::kAvx512:
      return words && __builtin_cpu_supports("avx512bw") ? ScanAvx512 : nullptr;
    case ScanIsa::kAvx2:
      return words && __builtin_cpu_supports("avx2") ? ScanAvx2 : nullptr;
    case ScanIsa::kSse2:
      return ScanSse2;
  }
  return ScanSse2;
}

ScanIsa BestIsa() {
  static const ScanIsa best = ScanFor(ScanIsa::kAvx512) != nullptr ? ScanIsa::kAvx512
                              : ScanFor(ScanIsa::kAvx2) != nullptr ? ScanIsa::kAvx2
                                                                   : ScanIsa::kSse2;
  return best;
}

// Collects ends block by block: where a line break and a brace are three bytes apart. What stands
// between them is looked at afterwards, since it nearly always is two spaces.
class EndList {
 public:
  EndList(const char* text, size_t size, std::span<uint32_t> ends)
      : text_(text), size_(size), ends_(ends) {}

  // How much of the first block counts, which lies anywhere: the others lie where loads like it.
  size_t FirstPart() const { return kScanBlock - reinterpret_cast<uintptr_t>(text_) % kScanBlock; }
  bool more() const { return at_ < size_ && count_ + kMostEnds <= ends_.size(); }
  size_t at() const { return at_; }

  // The masks of the block at at(), of which the first `part` bytes count.
  void Add(uint64_t breaks, uint64_t braces, size_t part = kScanBlock) {
    const size_t unused = kScanBlock - part;
    breaks <<= unused;
    braces <<= unused;
    uint64_t ends = braces & (breaks << 3 | carried_);
    carried_ = breaks >> (kScanBlock - 3);
    const size_t base = at_ + 1 - unused;
    // Most blocks have none or one, which must not be guessed.
    const auto found = static_cast<size_t>(std::popcount(ends));
    ends_[count_] = static_cast<uint32_t>(base + static_cast<size_t>(std::countr_zero(ends)));
    for (size_t i = 1; i < found; ++i) [[unlikely]] {
      ends &= ends - 1;
      ends_[count_ + i] = static_cast<uint32_t>(base + static_cast<size_t>(std::countr_zero(ends)));
    }
    count_ += found;
    at_ += part;
  }

  NativeEnds Done() {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      const uint32_t end = ends_[i];
      ends_[kept] = end;
      kept += end <= size_ && text_[end - 2] == ' ' && text_[end - 3] == ' ' ? 1 : 0;
    }
    return {kept, at_ >= size_ ? size_ : at_ - std::min<size_t>(at_, 3)};
  }

 private:
  static constexpr size_t kMostEnds = kScanBlock / 4;
  const char* text_;
  size_t size_;
  std::span<uint32_t> ends_;
  size_t at_ = 0;
  size_t count_ = 0;
  uint64_t carried_ = 0;  // line breaks among the last three bytes
};

// The part of the text that is asked for while an earlier one is looked through: files that are not
// copied come from far away.
void Prefetch(const char* at) {
  __builtin_prefetch(at + kPrefetched, 0, 2);
}

NativeEnds FindNativeEndsSse2(const char* text, size_t size, std::span<uint32_t> ends) {
  EndList list(text, size, ends);
  for (size_t part = list.FirstPart(); list.more(); part = kScanBlock) {
    const auto* at = reinterpret_cast<const __m128i*>(text + list.at());
    const __m128i bytes[4] = {_mm_loadu_si128(at), _mm_loadu_si128(at + 1), _mm_loadu_si128(at + 2),
                              _mm_loadu_si128(at + 3)};
    Prefetch(text + list.at());
    list.Add(EqualSse2(bytes, '\n'), EqualSse2(bytes, '}'), part);
  }
  return list.Done();
}

ROOFMARK_AVX2 NativeEnds FindNativeEndsAvx2(const char* text, size_t size,
                                            std::span<uint32_t> ends) {
  EndList list(text, size, ends);
  for (size_t part = list.FirstPart(); list.more(); part = kScanBlock) {
    const char* const at = text + list.at();
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
    Prefetch(at);
    list.Add(EqualAvx2(low, high, '\n'), EqualAvx2(low, high, '}'), part);
  }
  return list.Done();
}

ROOFMARK_AVX512 NativeEnds FindNativeEndsAvx512(const char* text, size_t size,
                                                std::span<uint32_t> ends) {
  __m512i newline = _mm512_set1_epi8('\n');
  __m512i brace = _mm512_set1_epi8('}');
  asm("" : "+v"(newline), "+v"(brace));  // made once, not for each block
  EndList list(text, size, ends);
  if (list.more()) {
    const __m512i bytes = _mm512_loadu_si512(text);
    list.Add(_mm512_cmpeq_epi8_mask(bytes, newline), _mm512_cmpeq_epi8_mask(bytes, brace),
             list.FirstPart());
  }
  while (list.more()) {
    const __m512i bytes = _mm512_loadu_si512(text + list.at());
    uint64_t breaks = _mm512_cmpeq_epi8_mask(bytes, newline);
    uint64_t braces = _mm512_cmpeq_epi8_mask(bytes, brace);
    asm("" : "+r"(breaks), "+r"(braces));  // side by side, not one after the other
    Prefetch(text + list.at());
    list.Add(breaks, braces);
  }
  return list.Done();
}

}  // namespace

void ScanBraces(const char* text, size_t blocks, ScanState& state, BraceMasks* masks) {
  static const ScanFunction scan = ScanFor(BestIsa());
  scan(text, blocks, state, masks);
}

bool ScanBracesWith(ScanIsa isa, const char* text, size_t blocks, ScanState& state,
                    BraceMasks* masks) {
  const ScanFunction scan = ScanFor(isa);
  if (scan == nullptr) return false;
  scan(text, blocks, state, masks);
  return true;
}

bool ScanEventWith(ScanIsa isa, const char* text, size_t size, EventMasks* masks) {
  switch (isa) {
    case ScanIsa::kAvx512:
      return ScanEventAvx512(text, size, masks);
    case ScanIsa::kAvx2:
      return ScanEventAvx2(text, size, masks);
    case ScanIsa::kSse2:
      break;
  }
  return ScanEventSse2(text, size, masks);
}

bool ScanEvent(const char* text, size_t size, EventMasks* masks) {
  return ScanEventWith(BestIsa(), text, size, masks);
}

NativeEnds FindNativeEndsWith(ScanIsa isa, const char* text, size_t size,
                              std::span<uint32_t> ends) {
  switch (isa) {
    case ScanIsa::kAvx512:
      return FindNativeEndsAvx512(text, size, ends);
    case ScanIsa::kAvx2:
      return FindNativeEndsAvx2(text, size, ends);
    case ScanIsa::kSse2:
      break;
  }
  return FindNativeEndsSse2(text, size, ends);
}

NativeEnds FindNativeEnds(const char* text, size_t size, std::span<uint32_t> ends) {
  return FindNativeEndsWith(BestIsa(), text, size, ends);
}

}  // namespace roofmark::trace
