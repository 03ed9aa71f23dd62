// SPDX-License-Identifier: Apache-2.0
// The C headers that native candidates include, made from an operator's card.
#include <fmt/format.h>

#include <string>

#include "candidate/build.h"

namespace roofmark::candidate {
namespace {

constexpr const char* kAbi = R"(/* SPDX-License-Identifier: Apache-2.0
 *
 * What every native candidate shares: DLPack's tensor view and bit-exact helpers for its types.
 * Layout as in DLPack 1.1 (github.com/dmlc/dlpack, include/dlpack/dlpack.h).
 */
#ifndef ROOFMARK_ABI_H_
#define ROOFMARK_ABI_H_

#include <stdint.h>

#ifdef __cplusplus
#define ROOFMARK_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define ROOFMARK_EXPORT __attribute__((visibility("default")))
#endif

#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type; /* 1 = CPU, 2 = CUDA */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code; /* 0 int, 1 unsigned int, 2 float, 4 bfloat, 10 float8 e4m3fn, 11 float8 e4m3fnuz */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void* data; /* of the first element; aligned to 256 bytes */
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides; /* in elements; tensors are contiguous and row-major */
  uint64_t byte_offset; /* 0 */
} DLTensor;
#endif

#endif /* ROOFMARK_ABI_H_ */
)";

std::string SizesOf(const TensorSpec& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.sizes, ", "));
}

std::string TypeOf(const TensorSpec& tensor) {
  if (tensor.dtype_axis.empty()) return std::string(DTypeName(tensor.dtype));
  std::vector<std::string_view> names;
  for (const DType dtype : tensor.dtypes) names.push_back(DTypeName(dtype));
  return fmt::format("{}, by {}", fmt::join(names, " or "), tensor.dtype_axis);
}

std::string MembersOf(const Operator& op) {
  std::string text;
  for (const TensorSpec& tensor : op.inputs) {
    if (op.IsInPlace(tensor.name)) continue;  // one tensor, among the outputs
    text += fmt::format("  DLTensor {}; /* in: {} {}; read-only */\n", tensor.name, TypeOf(tensor),
                        SizesOf(tensor));
  }
  for (const TensorSpec& tensor : op.outputs) {
    text += fmt::format("  DLTensor {}; /* {}: {} {} */\n", tensor.name,
                        tensor.in_place ? "in and out" : "out", TypeOf(tensor), SizesOf(tensor));
  }
  for (const auto& [name, is_list] : op.axes) {
    if (!is_list) text += fmt::format("  int64_t {};\n", name);
  }
  for (const Formula& formula : op.derived) text += fmt::format("  int64_t {};\n", formula.name);
  for (const auto& [name, value] : op.attributes) text += fmt::format("  double {};\n", name);
  return text;
}

}  // namespace

std::string AbiHeader() {
  return kAbi;
}

std::string ContractHeader(const Operator& op) {
  std::string guard = "ROOFMARK_" + op.name + "_H_";
  for (char& c : guard) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return fmt::format(R"(/* SPDX-License-Identifier: Apache-2.0
 *
 * {0}: {1}
 *
 * A candidate exports these C functions:
 *   init             optional; once per shape, untimed; data pointers are null. Compile, tune and
 *                    allocate here. Returns 0 when it succeeded.
 *   workspace_bytes  optional; how much device memory run needs beside its tensors.
 *   run              the operator. Writes every output in full (of one that is "in and out", what
 *                    the operator changes), allocates nothing, waits for
 *                    nothing. Returns 0 when everything was queued on `stream`, a CUstream, which
 *                    is null on a CPU.
 */
#ifndef {2}
#define {2}

#include {4}

typedef struct {{
{3}}} {0}_args;

ROOFMARK_EXPORT int init(const {0}_args* shape_only);
ROOFMARK_EXPORT int64_t workspace_bytes(const {0}_args* shape_only);
ROOFMARK_EXPORT int run(const {0}_args* args, void* workspace, void* stream);

#endif /* {2} */
)",
                     op.name, op.summary, guard, MembersOf(op), "\"roofmark/abi.h\"");
}

}  // namespace roofmark::candidate
