// SPDX-License-Identifier: Apache-2.0
// Element types of tensors, with the names that cards, profiles and reports use.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace roofmark {

enum class DType { kF32, kF16, kBF16, kF8E4M3Fn, kF8E4M3Fnuz, kI32, kI64, kU8 };

// "f32" "f16" "bf16" "f8_e4m3fn" "f8_e4m3fnuz" "i32" "i64" "u8".
std::string_view DTypeName(DType dtype);
Result<DType> ParseDType(std::string_view name);
int64_t DTypeBytes(DType dtype);
bool IsFloat(DType dtype);

// One element as a double; `bits` points at DTypeBytes(dtype) bytes. fp8 follows the OCP (fn) and
// the fnuz definitions. Source: Micikevicius et al., arXiv 2209.05433; ONNX float8 specification.
double DecodeElement(DType dtype, const void* bits);

}  // namespace roofmark
