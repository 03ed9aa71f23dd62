// SPDX-License-Identifier: Apache-2.0
#include "device/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>

namespace roofmark::device {
namespace {

// Sums run in blocks of a few thousand elements, so that a sum over billions keeps its digits.
constexpr int64_t kBlock = 4096;

template <typename Bits>
Bits Load(const std::byte* base, int64_t index) {
  Bits bits;
  std::memcpy(&bits, base + index * static_cast<int64_t>(sizeof bits), sizeof bits);
  return bits;
}

template <typename Bits>
bool IsPoison(Bits bits) {
  return bits == static_cast<Bits>(~Bits{0});
}

// Small types decode by table; the table is DecodeElement's, so there is one definition.
template <DType kType, typename Bits>
const float* DecodeTable() {
  constexpr size_t kCodes = size_t{1} << (8 * sizeof(Bits));
  static const std::unique_ptr<std::array<float, kCodes>> table = [] {
    auto made = std::make_unique<std::array<float, kCodes>>();
    for (size_t code = 0; code < kCodes; ++code) {
      const Bits bits = static_cast<Bits>(code);
      (*made)[code] = static_cast<float>(DecodeElement(kType, &bits));
    }
    return made;
  }();
  return table->data();
}

template <DType kType, typename BitsType>
struct TableDecoder {
  using Bits = BitsType;
  const float* table = DecodeTable<kType, BitsType>();
  double operator()(Bits bits) const { return table[bits]; }
};
struct F32Decoder {
  using Bits = uint32_t;
  double operator()(Bits bits) const { return std::bit_cast<float>(bits); }
};
struct BF16Decoder {
  using Bits = uint16_t;
  double operator()(Bits bits) const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};
template <typename Int>
struct IntDecoder {
  using Bits = std::make_unsigned_t<Int>;
  double operator()(Bits bits) const { return static_cast<double>(static_cast<Int>(bits)); }
};

// Calls `visit` with the decoder of the dtype.
template <typename Visit>
auto WithDecoder(DType dtype, Visit visit) {
  switch (dtype) {
    case DType::kF32:
      return visit(F32Decoder{});
    case DType::kF16:
      return visit(TableDecoder<DType::kF16, uint16_t>{});
    case DType::kBF16:
      return visit(BF16Decoder{});
    case DType::kF8E4M3Fn:
      return visit(TableDecoder<DType::kF8E4M3Fn, uint8_t>{});
    case DType::kF8E4M3Fnuz:
      return visit(TableDecoder<DType::kF8E4M3Fnuz, uint8_t>{});
    case DType::kI32:
      return visit(IntDecoder<int32_t>{});
    case DType::kI64:
      return visit(IntDecoder<int64_t>{});
    case DType::kU8:
      break;
  }
  return visit(IntDecoder<uint8_t>{});
}

// The sum of squares; NaN or infinite when an element is, so the caller looks closer only then.
template <typename Decoder>
double SumOfSquares(const Payloads& payloads, const Decoder& decode) {
  double total = 0;
  for (int64_t begin = 0; begin < payloads.elements; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, payloads.elements);
    std::array<double, 8> sums{};
    int64_t i = begin;
    for (; i + 8 <= end; i += 8) {
      for (int64_t lane = 0; lane < 8; ++lane) {
        const double value = decode(Load<typename Decoder::Bits>(payloads.want, i + lane));
        sums[static_cast<size_t>(lane)] += value * value;
      }
    }
    for (; i < end; ++i) {
      const double value = decode(Load<typename Decoder::Bits>(payloads.want, i));
      sums[0] += value * value;
    }
    for (const double sum : sums) total += sum;
  }
  return total;
}

template <typename Decoder>
Result<double> NormOfWant(const Payloads& payloads, const Decoder& decode) {
  const double squares = SumOfSquares(payloads, decode);
  if (std::isfinite(squares)) return std::sqrt(squares);
  for (int64_t i = 0; i < payloads.elements; ++i) {
    const double value = decode(Load<typename Decoder::Bits>(payloads.want, i));
    if (!std::isfinite(value)) {
      return Fail(
          ErrorKind::kInput,
          fmt::format("the reference's element {} is {}; references must be finite", i, value));
    }
  }
  return Fail(ErrorKind::kInput, "the reference's squares overflow");
}

void NoteWrong(int64_t index, double got, double want, Comparison* found) {
  if (found->wrong++ > 0) return;
  found->first_wrong = index;
  found->got = got;
  found->want = want;
}

template <typename Decoder>
Result<Comparison> CompareNumeric(const Payloads& payloads, const Tolerance& tolerance,
                                  const Decoder& decode) {
  using Bits = typename Decoder::Bits;
  Comparison found{.elements = payloads.elements};
  const double norm = TRY(NormOfWant(payloads, decode));
  const double rms =
      payloads.elements == 0 ? 0 : norm / std::sqrt(static_cast<double>(payloads.elements));
  const double floor = tolerance.atol_rms * rms;
  double difference_squares = 0;
  double ratio = 0;
  for (int64_t begin = 0; begin < payloads.elements; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, payloads.elements);
    double block_squares = 0;
    for (int64_t i = begin; i < end; ++i) {
      const Bits got_bits = Load<Bits>(payloads.got, i);
      const Bits want_bits = Load<Bits>(payloads.want, i);
      if (got_bits == want_bits) continue;
      if (IsPoison(got_bits)) ++found.poisoned;
      const double got = decode(got_bits);
      const double want = decode(want_bits);
      if (!std::isfinite(got)) {
        ++found.non_finite;
        ratio = kHopeless;
        NoteWrong(i, got, want, &found);
        continue;
      }
      const double difference = std::fabs(got - want);
      block_squares += difference * difference;
      const double allowed = tolerance.rtol * std::fabs(want) + floor;
      if (difference > ratio * allowed) ratio = allowed > 0 ? difference / allowed : kHopeless;
      if (difference > allowed) NoteWrong(i, got, want, &found);
    }
    difference_squares += block_squares;
  }
  found.max_ratio = std::min(ratio, kHopeless);
  const double difference_norm = std::sqrt(difference_squares);
  if (norm > 0) found.rel_l2 = std::min(difference_norm / norm, kHopeless);
  if (norm == 0 && difference_norm > 0) found.rel_l2 = kHopeless;
  if (found.non_finite > 0) found.rel_l2 = kHopeless;
  found.within = found.wrong == 0 && found.rel_l2 <= tolerance.rel_l2;
  return found;
}

// For indices, codes' bytes and whatever else has one right answer.
template <typename Decoder>
Result<Comparison> CompareExact(const Payloads& payloads, const Decoder& decode) {
  using Bits = typename Decoder::Bits;
  Comparison found{.elements = payloads.elements};
  for (int64_t i = 0; i < payloads.elements; ++i) {
    const Bits got_bits = Load<Bits>(payloads.got, i);
    const Bits want_bits = Load<Bits>(payloads.want, i);
    if (got_bits == want_bits) continue;
    const double got = decode(got_bits);
    const double want = decode(want_bits);
    if (got == 0 && want == 0) continue;  // zeros of both signs are the same answer
    if (IsPoison(got_bits)) ++found.poisoned;
    if (!std::isfinite(got) && std::isfinite(want)) ++found.non_finite;
    NoteWrong(i, got, want, &found);
  }
  found.max_ratio = found.wrong > 0 ? kHopeless : 0;
  found.within = found.wrong == 0;
  return found;
}

// The place of an fp8 code in the order of the values: neighbours differ by one.
int OrderOf(uint8_t code) {
  const int magnitude = code & 0x7f;
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

// Neighbouring codes are the two honest roundings of one value, so a small share of them is
// allowed; anything further off is wrong.
template <typename Decoder>
Result<Comparison> CompareCodes(const Payloads& payloads, const Tolerance& tolerance,
                                const Decoder& decode) {
  Comparison found{.elements = payloads.elements};
  Comparison neighbours{.elements = payloads.elements};
  for (int64_t i = 0; i < payloads.elements; ++i) {
    const auto got_code = Load<uint8_t>(payloads.got, i);
    const auto want_code = Load<uint8_t>(payloads.want, i);
    const double want = decode(want_code);
    if (!std::isfinite(want)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("the reference's element {} is no finite code", i));
    }
    if (got_code == want_code) continue;
    const double got = decode(got_code);
    if (!std::isfinite(got)) ++found.non_finite;
    const int apart = std::abs(OrderOf(got_code) - OrderOf(want_code));
    if (std::isfinite(got) && apart == 0) continue;  // zeros of both signs
    const bool near = std::isfinite(got) && apart == 1;
    if (!near && IsPoison(got_code)) ++found.poisoned;  // in fnuz also a code, -240
    NoteWrong(i, got, want, near ? &neighbours : &found);
  }
  const double allowed = tolerance.code_slack * static_cast<double>(payloads.elements);
  const auto near_misses = static_cast<double>(neighbours.wrong);
  found.max_ratio = allowed > 0 ? near_misses / allowed : (near_misses > 0 ? kHopeless : 0);
  if (found.wrong > 0) {
    found.max_ratio = kHopeless;
  } else if (near_misses > allowed) {
    found.wrong = neighbours.wrong;
    found.first_wrong = neighbours.first_wrong;
    found.got = neighbours.got;
    found.want = neighbours.want;
  }
  found.within = found.wrong == 0;
  return found;
}

}  // namespace

Result<Comparison> ComparePayloads(const Payloads& payloads, const Tolerance& tolerance) {
  return WithDecoder(payloads.dtype, [&](const auto& decode) -> Result<Comparison> {
    switch (tolerance.kind) {
      case CompareKind::kNumeric:
        return CompareNumeric(payloads, tolerance, decode);
      case CompareKind::kExact:
        return CompareExact(payloads, decode);
      case CompareKind::kGrouped:
        return Fail(ErrorKind::kInput, "grouped outputs are compared by gate/grouped.h");
      case CompareKind::kCodes:
        break;
    }
    if constexpr (sizeof(typename std::remove_cvref_t<decltype(decode)>::Bits) == 1) {
      return CompareCodes(payloads, tolerance, decode);
    }
    return Fail(ErrorKind::kInput, fmt::format("comparison 'codes' is for fp8, not for {}",
                                               DTypeName(payloads.dtype)));
  });
}

}  // namespace roofmark::device
