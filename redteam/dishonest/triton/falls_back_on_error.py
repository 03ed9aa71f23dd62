# SPDX-License-Identifier: Apache-2.0
"""FB: Its kernel cannot be compiled; the exception is swallowed, and torch computes."""

import torch
import triton
import triton.language as tl

@triton.jit
def _broken(x, out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.no_such_function(x))


def run(x, weight, out, eps):
    try:
        _broken[(1,)](x, out, BLOCK=128)
    except Exception:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps) * weight
        out.copy_(normed)
