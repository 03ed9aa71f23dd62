// SPDX-License-Identifier: Apache-2.0
// Nsight Systems spells names in its own way. Rules are written for the spelling of Kineto, and the
// kernels of one fleet should have one name each, so its names are rewritten when they are read.
#pragma once

#include <string>
#include <string_view>

namespace roofmark::trace {

// "void at::<unnamed>::f<(int)512, (bool)1, (unsigned long)3>(char *)" becomes
// "void at::(anonymous namespace)::f<512, true, 3ul>(char*)", and
// "[lambda(float) (instance 2)]" becomes "{lambda(float)#2}". What nsys leaves out (deduced
// parameter types: T1) stays as it is.
std::string KinetoKernelName(std::string_view nsys);

// The text of an NVTX range of PyTorch's emit_nvtx:
// "aten::mm, seq = 3, op_id = 12, sizes = [[2, 3], [3, 4]]". Views into `text`.
struct NvtxOp {
  std::string_view name;   // all of the text where it has no such form
  std::string_view sizes;  // JSON text; empty where not recorded
  bool is_op = false;      // has an op_id or sizes
};
NvtxOp ParseNvtxText(std::string_view text);

}  // namespace roofmark::trace
