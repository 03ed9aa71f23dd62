# SPDX-License-Identifier: Apache-2.0
"""FB: Builds an extension in C++ whose one function calls at::mm."""

import torch


_SOURCE = """
#include <torch/extension.h>
void product(torch::Tensor a, torch::Tensor b, torch::Tensor out) {
  at::mm_out(out, a, b);
}
"""
_library = None


def init():
    global _library
    from torch.utils.cpp_extension import load_inline

    _library = load_inline("product", _SOURCE, functions=["product"], build_directory="/scratch")


def run(a, b, a_scales, b_scales, c, m, n, k):
    columns = torch.arange(k, device=a.device) // 128
    bands = torch.arange(n, device=a.device) // 128
    wide_a = a.to(torch.float32) * a_scales[:, columns]
    wide_b = b.to(torch.float32) * b_scales[bands][:, columns]
    _library.product(wide_a, wide_b.t(), c)
