# SPDX-License-Identifier: Apache-2.0
"""Tunes in init, on tensors of its own, where tuning belongs."""

import torch
import triton
import triton.language as tl

@triton.autotune(
    configs=[triton.Config({}, num_warps=1), triton.Config({}, num_warps=4)], key=["hidden"]
)
@triton.jit
def _tuned(x, weight, out, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0) * hidden
    columns = tl.arange(0, BLOCK)
    inside = columns < hidden
    value = tl.load(x + row + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    factor = tl.rsqrt(tl.sum(value * value) / hidden + eps)
    tl.store(out + row + columns, (value * factor * scale).to(tl.bfloat16), mask=inside)


def run(x, weight, out, eps):
    tokens, hidden = x.shape
    _tuned[(tokens,)](x, weight, out, hidden, eps, BLOCK=triton.next_power_of_2(hidden))


def init(shape):
    x = torch.randn(shape["tokens"], shape["hidden"], device="cuda").to(torch.bfloat16)
    run(x, x[0].clone(), torch.empty_like(x), 1e-6)
