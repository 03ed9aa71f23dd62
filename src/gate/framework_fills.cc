// SPDX-License-Identifier: Apache-2.0
#include "gate/framework_fills.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"

namespace roofmark::gate {
namespace {

// Mangled names in which '#' stands for any digits, '@' for the type of an element, and '$' for a
// letter and digits of a substitution (Itanium C++ ABI, 5.1.8). Source: aten/src/ATen/native/cuda
// (FillKernel.cu, CUDALoops.cuh) of PyTorch 2.1 to 2.11; the first as an H200 reported it.
constexpr std::array<std::string_view, 5> kFills = {
    "_ZN2at6native29vectorized_elementwise_kernelILi#ENS0_11FillFunctorI@EESt5arrayIPcLm1EEEEviT0_"
    "T1_",
    "_ZN2at6native29vectorized_elementwise_kernelILi#ENS0_11FillFunctorI@EENS_6detail5ArrayIPcLi1E"
    "EEEEviT0_T1_",
    "_ZN2at6native27unrolled_elementwise_kernelINS0_11FillFunctorI@EESt5arrayIPcLm1EELi#E23Trivial"
    "OffsetCalculatorILi0EjES$_ILi1EjENS0_6memory15LoadWithoutCastENS$_16StoreWithoutCastEEEviT_T0_"
    "T2_T3_T4_T5_",
    "_ZN2at6native18elementwise_kernelILi#ELi#EZNS0_22gpu_kernel_impl_nocastINS0_11FillFunctorI@EEE"
    "EvRNS_18TensorIteratorBaseERKT_EUliE#_EEviT1_",
    "_ZN2at6native18elementwise_kernelILi#ELi#EZNS0_15gpu_kernel_implINS0_11FillFunctorI@EEEEvRNS_1"
    "8TensorIteratorBaseERKT_EUliE#_EEviT1_",
};

// Builtin types, by their letter, and PyTorch's own.
constexpr std::string_view kBuiltins = "bahstijlmxyfd";
constexpr std::array<std::string_view, 10> kTypes = {"N3c108BFloat16E",
                                                     "N3c104HalfE",
                                                     "N3c107complexIfEE",
                                                     "N3c107complexIdEE",
                                                     "N3c107complexINS$_4HalfEEE",
                                                     "N3c1013Float8_e4m3fnE",
                                                     "N3c1011Float8_e5m2E",
                                                     "N3c1015Float8_e4m3fnuzE",
                                                     "N3c1015Float8_e5m2fnuzE",
                                                     "N3c1014Float8_e8m0fnuE"};

size_t SkipDigits(std::string_view text) {
  return static_cast<size_t>(std::ranges::find_if_not(text, IsDigit) - text.begin());
}

// How much of `text` the pattern takes, all of the pattern being matched; npos = it does not match.
size_t Taken(std::string_view pattern, std::string_view text) {
  size_t at = 0;
  for (const char want : pattern) {
    const std::string_view rest = text.substr(at);
    if (want == '#') {
      at += SkipDigits(rest);
    } else if (want == '$') {
      // S_, S0_, SA_ ...: base 36.
      while (at < text.size() && (IsDigit(text[at]) || (text[at] >= 'A' && text[at] <= 'Z'))) ++at;
    } else if (want == '@') {
      if (rest.empty()) return std::string_view::npos;
      if (kBuiltins.find(rest[0]) != std::string_view::npos) {
        ++at;
        continue;
      }
      const auto type = std::ranges::find_if(kTypes, [rest](std::string_view one) {
        return Taken(one, rest) != std::string_view::npos;
      });
      if (type == kTypes.end()) return std::string_view::npos;
      at += Taken(*type, rest);
    } else if (rest.empty() || rest[0] != want) {
      return std::string_view::npos;
    } else {
      ++at;
    }
  }
  return at;
}

}  // namespace

bool IsFillKernel(std::string_view kernel) {
  return std::ranges::any_of(
      kFills, [kernel](std::string_view fill) { return Taken(fill, kernel) == kernel.size(); });
}

}  // namespace roofmark::gate
