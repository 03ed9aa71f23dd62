# SPDX-License-Identifier: Apache-2.0
"""Makes its tensor descriptors in the kernel, for which Triton asks an allocator of the
candidate's for scratch memory in each launch."""

import torch
import triton
import triton.language as tl


@triton.jit
def _norm(x, weight, out, tokens, hidden, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.make_tensor_descriptor(x, [tokens, hidden], [hidden, 1], [ROWS, BLOCK])
    stores = tl.make_tensor_descriptor(out, [tokens, hidden], [hidden, 1], [ROWS, BLOCK])
    row = tl.program_id(0) * ROWS
    total = tl.zeros([ROWS], tl.float32)
    for column in range(0, hidden, BLOCK):
        value = rows.load([row, column]).to(tl.float32)
        total += tl.sum(value * value, axis=1)
    factor = 1.0 / tl.sqrt(total / hidden + eps)
    for column in range(0, hidden, BLOCK):
        at = column + tl.arange(0, BLOCK)
        scale = tl.load(weight + at, mask=at < hidden, other=0.0).to(tl.float32)
        value = rows.load([row, column]).to(tl.float32)
        value = value * factor[:, None] * scale[None, :]
        stores.store([row, column], value.to(tl.bfloat16))


def _allocate(size, alignment, stream):
    return torch.empty(size, device="cuda", dtype=torch.int8)


def run(x, weight, out, eps):
    triton.set_allocator(_allocate)
    tokens, hidden = x.shape
    _norm[(triton.cdiv(tokens, 4),)](x, weight, out, tokens, hidden, eps, ROWS=4, BLOCK=256)
