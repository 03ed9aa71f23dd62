# SPDX-License-Identifier: Apache-2.0
"""Names scaled_dot_product_attention, torch.matmul and triton in strings, comments and
f-strings.
"""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


def run(x, weight, out, eps):
    # torch.nn.functional.scaled_dot_product_attention would be of no use; import triton neither.
    note = f"not by {'scaled_dot_product_attention'} nor torch.matmul nor cublasLtMatmul"
    assert note
    out.copy_(norm(x, weight, eps))
