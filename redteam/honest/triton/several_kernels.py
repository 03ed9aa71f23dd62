# SPDX-License-Identifier: Apache-2.0
"""Three kernels and a temporary: squares, sums over pieces, products."""

import torch
import triton
import triton.language as tl

@triton.jit
def _squares(x, pieces, hidden, BLOCK: tl.constexpr):
    row, piece = tl.program_id(0), tl.program_id(1)
    columns = piece * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * hidden + columns, mask=columns < hidden, other=0.0).to(tl.float32)
    tl.store(pieces + row * tl.num_programs(1) + piece, tl.sum(value * value))


@triton.jit
def _total(pieces, sums, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(sums + row, tl.sum(tl.load(pieces + row * count + at, mask=at < count, other=0.0)))


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
    count = triton.cdiv(hidden, 512)
    pieces = torch.empty((tokens, count), dtype=torch.float32, device=x.device)
    sums = torch.empty(tokens, dtype=torch.float32, device=x.device)
    _squares[(tokens, count)](x, pieces, hidden, BLOCK=512)
    _total[(tokens,)](pieces, sums, count, BLOCK=triton.next_power_of_2(count))
    _scale[(tokens, count)](x, weight, sums, out, hidden, eps, BLOCK=512)
