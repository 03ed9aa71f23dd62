# SPDX-License-Identifier: Apache-2.0
"""Asks for a workspace, clears it by a kernel of its own, and adds to it by atomics in no order."""

import torch
import triton
import triton.language as tl

@triton.jit
def _clear(sums, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(sums + at, tl.zeros((BLOCK,), tl.float32), mask=at < count)


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


def workspace_bytes(shape):
    return 4 * shape["tokens"]


def run(x, weight, out, eps, workspace):
    tokens, hidden = x.shape
    sums = workspace.view(torch.float32)
    grid = (tokens, triton.cdiv(hidden, 256))
    _clear[(triton.cdiv(tokens, 256),)](sums, tokens, BLOCK=256)
    _add[grid](x, sums, hidden, BLOCK=256)
    _scale[grid](x, weight, sums, out, hidden, eps, BLOCK=256)
