# SPDX-License-Identifier: Apache-2.0
"""Takes cleared sums from torch.zeros: a helper of the framework that clears memory, and computes
nothing."""

import torch
import triton
import triton.language as tl

@triton.jit
def _add(x, sums, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * hidden + columns, mask=columns < hidden, other=0.0).to(tl.float32)
    tl.atomic_add(sums + row, tl.sum(value * value))


@triton.jit
def _scale(x, weight, sums, out, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = columns < hidden
    value = tl.load(x + row * hidden + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    factor = tl.rsqrt(tl.load(sums + row) / hidden + eps)
    tl.store(out + row * hidden + columns, (value * factor * scale).to(tl.bfloat16), mask=inside)


def run(x, weight, out, eps):
    tokens, hidden = x.shape
    sums = torch.zeros(tokens, dtype=torch.float32, device=x.device)
    grid = (tokens, triton.cdiv(hidden, 256))
    _add[grid](x, sums, hidden, BLOCK=256)
    _scale[grid](x, weight, sums, out, hidden, eps, BLOCK=256)
