// SPDX-License-Identifier: Apache-2.0
// Kernels of PyTorch that set memory to one constant: torch.zeros, ones, full and fill_. They are
// to Python what cudaMemset is to CUDA: helpers, which no result can come out of, since the only
// thing they read is a constant in their parameters.
#pragma once

#include <string_view>

namespace roofmark::gate {

// Whether `kernel` is, to its last letter, one of PyTorch's instantiations of FillFunctor over a
// single tensor. A name that merely begins or ends like one is none: whoever can have code loaded
// by PyTorch (its jiterator compiles any text) can choose part of its name. Conversions of type and
// copies are no fills.
bool IsFillKernel(std::string_view kernel);

}  // namespace roofmark::gate
