// SPDX-License-Identifier: Apache-2.0
// DLPack's tensor view, which native candidates get. The same layout is in the generated
// "roofmark/abi.h". Source: DLPack 1.1, include/dlpack/dlpack.h (github.com/dmlc/dlpack).
#pragma once

#include <cstdint>

#include "model/dtype.h"

namespace roofmark::worker {

struct DlDevice {
  int32_t type = 1;  // 1 = CPU, 2 = CUDA
  int32_t id = 0;
};

struct DlDataType {
  uint8_t code = 0;
  uint8_t bits = 0;
  uint16_t lanes = 1;
};

struct DlTensor {
  void* data = nullptr;
  DlDevice device;
  int32_t ndim = 0;
  DlDataType dtype;
  int64_t* shape = nullptr;
  int64_t* strides = nullptr;  // in elements
  uint64_t byte_offset = 0;
};
static_assert(sizeof(DlTensor) == 48);

DlDataType DlTypeOf(DType dtype);

}  // namespace roofmark::worker
