// SPDX-License-Identifier: Apache-2.0
// The judge's own device code: guards, fingerprints and comparison, the same semantics as
// device/compare.h has on a CPU.
#include "device/cuda_judge.h"

namespace roofmark::device {

namespace {

// What both texts begin with.
constexpr const char* kBasics = R"cuda(
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

__device__ u64 WarpSum(u64 x) {
  for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
  return x;
}

// Unrolling would only cost compile time: these loops wait for memory.
#define EACH_ELEMENT(i, n) \
  const bool leader = threadIdx.x % 32 == 0; \
  _Pragma("unroll 1") \
  for (i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x)
)cuda";

constexpr const char* kComparison = R"cuda(
// Mirrors JudgeFindings in cuda_judge.h.
struct Findings {
  double want_squares, difference_squares;
  u64 ratio_bits;  // a non-negative double: ordered like its bits
  u64 wrong, first_wrong, non_finite, poisoned, want_bad, first_want_bad, near, first_near;
};

__device__ __forceinline__ float FromFp8(u8 code, int bias, bool nan) {
  if (nan) return __int_as_float(0x7fffffff);
  const int exponent = (code >> 3) & 15, mantissa = code & 7;
  const float magnitude =
      exponent == 0 ? mantissa * __int_as_float((127 - 2 - bias) << 23)
                    : __int_as_float((exponent - bias + 127) << 23 | mantissa << 20);
  return (code & 0x80) ? -magnitude : magnitude;
}

struct F32 {
  typedef u32 Bits;
  static __device__ double Decode(u32 b) {
    return __int_as_float((int)b);
  }
};
struct BF16 {
  typedef u16 Bits;
  static __device__ double Decode(u16 b) {
    return __int_as_float((int)((u32)b << 16));
  }
};
struct F16 {
  typedef u16 Bits;
  static __device__ double Decode(u16 b) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(b));
    return f;
  }
};
struct E4M3Fn {
  typedef u8 Bits;
  static __device__ double Decode(u8 b) {
    return FromFp8(b, 7, (b & 0x7f) == 0x7f);
  }
};
struct E4M3Fnuz {
  typedef u8 Bits;
  static __device__ double Decode(u8 b) {
    return FromFp8(b, 8, b == 0x80);
  }
};
struct I32 {
  typedef u32 Bits;
  static __device__ double Decode(u32 b) {
    return (double)(int)b;
  }
};
struct I64 {
  typedef u64 Bits;
  static __device__ double Decode(u64 b) {
    return (double)(i64)b;
  }
};
struct U8 {
  typedef u8 Bits;
  static __device__ double Decode(u8 b) {
    return (double)b;
  }
};

__device__ __forceinline__ bool Finite(double x) { return fabs(x) <= 1.7976931348623157e308; }

__device__ double WarpSum(double x) {
  for (int d = 16; d > 0; d >>= 1) x += __shfl_xor_sync(~0u, x, d);
  return x;
}
__device__ u64 WarpMin(u64 x) {
  for (int d = 16; d > 0; d >>= 1) { const u64 y = __shfl_xor_sync(~0u, x, d); x = y < x ? y : x; }
  return x;
}
__device__ u64 WarpMax(u64 x) { return ~WarpMin(~x); }

// First pass over what is wanted: its norm, and whether it is finite at all.
template <typename T>
__device__ void Norm(const typename T::Bits* want, i64 n, Findings* found) {
  double squares = 0;
  u64 bad = 0, first = ~0ull;
  EACH_ELEMENT(i, n) {
    const double w = T::Decode(want[i]);
    if (Finite(w)) squares += w * w;
    else { ++bad; if ((u64)i < first) first = i; }
  }
  squares = WarpSum(squares); bad = WarpSum(bad); first = WarpMin(first);
  if (leader) {
    atomicAdd(&found->want_squares, squares);
    if (bad) { atomicAdd(&found->want_bad, bad); atomicMin(&found->first_want_bad, first); }
  }
}

// Second pass. `rtol` < 0 asks for bits to be equal.
template <typename T>
__device__ void Elements(const typename T::Bits* got, const typename T::Bits* want, i64 n,
                         double rtol, double floor, Findings* found) {
  double squares = 0;
  double ratio = 0;
  u64 wrong = 0, first = ~0ull, non_finite = 0, poisoned = 0;
  EACH_ELEMENT(i, n) {
    const typename T::Bits gb = got[i], wb = want[i];
    if (gb == wb) continue;
    if (gb == (typename T::Bits)~(typename T::Bits)0) ++poisoned;
    const double g = T::Decode(gb), w = T::Decode(wb);
    bool bad = rtol < 0;
    if (bad && g == 0 && w == 0) continue;  // zeros of both signs are the same answer
    if (!Finite(g)) {
      non_finite += bad ? Finite(w) : 1;
      bad = true;
      ratio = 1e300;
    } else if (!bad) {
      const double difference = fabs(g - w);
      squares += difference * difference;
      const double allowed = rtol * fabs(w) + floor;
      const double r = allowed > 0 ? difference / allowed : (difference > 0 ? 1e300 : 0);
      ratio = r > ratio ? r : ratio;
      bad = difference > allowed;
    }
    if (bad) { ++wrong; if ((u64)i < first) first = i; }
  }
  squares = WarpSum(squares); wrong = WarpSum(wrong); first = WarpMin(first);
  non_finite = WarpSum(non_finite); poisoned = WarpSum(poisoned);
  const u64 ratio_bits = WarpMax((u64)__double_as_longlong(ratio));
  if (leader) {
    atomicAdd(&found->difference_squares, squares);
    atomicMax(&found->ratio_bits, ratio_bits);
    if (wrong) { atomicAdd(&found->wrong, wrong); atomicMin(&found->first_wrong, first); }
    if (non_finite) atomicAdd(&found->non_finite, non_finite);
    if (poisoned) atomicAdd(&found->poisoned, poisoned);
  }
}

__device__ int Order(u8 code) { return (code & 0x80) ? -(code & 0x7f) : (code & 0x7f); }

// fp8 codes: neighbours are counted apart from what is further off.
template <typename T>
__device__ void Codes(const u8* got, const u8* want, i64 n, Findings* found) {
  u64 wrong = 0, first = ~0ull, near = 0, first_near = ~0ull, non_finite = 0, poisoned = 0;
  EACH_ELEMENT(i, n) {
    const u8 gb = got[i], wb = want[i];
    if (gb == wb) continue;
    const bool finite = Finite(T::Decode(gb));
    if (!finite) ++non_finite;
    const int apart = abs(Order(gb) - Order(wb));
    if (finite && apart == 0) continue;
    if (finite && apart == 1) {
      ++near;
      if ((u64)i < first_near) first_near = i;
    } else {
      ++wrong;
      if (gb == 0xff) ++poisoned;  // in fnuz also a code, -240
      if ((u64)i < first) first = i;
    }
  }
  wrong = WarpSum(wrong); first = WarpMin(first); near = WarpSum(near);
  first_near = WarpMin(first_near); non_finite = WarpSum(non_finite); poisoned = WarpSum(poisoned);
  if (leader) {
    if (wrong) { atomicAdd(&found->wrong, wrong); atomicMin(&found->first_wrong, first); }
    if (near) { atomicAdd(&found->near, near); atomicMin(&found->first_near, first_near); }
    if (non_finite) atomicAdd(&found->non_finite, non_finite);
    if (poisoned) atomicAdd(&found->poisoned, poisoned);
  }
}

extern "C" __global__ void compare_norm(const TYPE::Bits* want, i64 n, Findings* found) {
  Norm<TYPE>(want, n, found);
}
extern "C" __global__ void compare_elements(const TYPE::Bits* got, const TYPE::Bits* want, i64 n,
                                    double rtol, double floor, Findings* found) {
  Elements<TYPE>(got, want, n, rtol, floor, found);
}
#ifdef CODES
extern "C" __global__ void compare_codes(const u8* got, const u8* want, i64 n, Findings* found) {
  Codes<TYPE>(got, want, n, found);
}
#endif
)cuda";

constexpr const char* kMemory = R"cuda(
// Counts the bytes that differ from `value`.
extern "C" __global__ void count_other(const u8* bytes, i64 n, u32 value, u64* others) {
  u64 count = 0;
  EACH_ELEMENT(i, n) count += bytes[i] != value;
  count = WarpSum(count);
  if (leader && count) atomicAdd(others, count);
}

__device__ u64 Mix(u64 z) {  // the finaliser of SplitMix64
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

// A sum over 8-byte words, each mixed with its place and a secret seed; order does not matter.
extern "C" __global__ void fingerprint(const u8* bytes, i64 n, u64 seed, u64* sum) {
  u64 total = 0;
  const i64 words = n / 8;
  EACH_ELEMENT(i, words) {
    const u64 word = ((const u64*)bytes)[i];
    total += Mix(word + Mix(seed + (u64)i * 0x9e3779b97f4a7c15ull));
  }
  if (blockIdx.x == 0 && threadIdx.x == 0 && n % 8) {
    u64 word = 0;
    for (i64 i = words * 8; i < n; ++i) word = word << 8 | bytes[i];
    total += Mix(word + Mix(seed + (u64)words * 0x9e3779b97f4a7c15ull));
  }
  total = WarpSum(total);
  if (leader) atomicAdd(sum, total);
}
)cuda";

const char* TypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBF16:
      return "BF16";
    case DType::kF8E4M3Fn:
      return "E4M3Fn";
    case DType::kF8E4M3Fnuz:
      return "E4M3Fnuz";
    case DType::kI32:
      return "I32";
    case DType::kI64:
      return "I64";
    case DType::kU8:
      break;
  }
  return "U8";
}

}  // namespace

std::string MemorySource() {
  return std::string(kBasics) + kMemory;
}

std::string ComparisonSource(DType dtype) {
  std::string text = std::string("#define TYPE ") + TypeName(dtype) + "\n";
  if (DTypeBytes(dtype) == 1) text += "#define CODES\n";
  return text + kBasics + kComparison;
}

}  // namespace roofmark::device
