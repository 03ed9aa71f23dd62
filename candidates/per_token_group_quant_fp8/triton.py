# SPDX-License-Identifier: Apache-2.0
"""An honest Triton quantisation to e4m3fn by groups: a row of the tile is one group of 128."""

import torch
import triton
import triton.language as tl


@triton.jit
def _quantise(
    x, codes, scales, groups, group, fp8_max, min_scale, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    mask = (rows < groups)[:, None] & (columns < group)[None, :]
    at = rows.to(tl.int64)[:, None] * group + columns[None, :]
    values = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(values), axis=1) / fp8_max, min_scale)
    scaled = tl.clamp(values / scale[:, None], -fp8_max, fp8_max)
    code = scaled.to(tl.float8e4nv).to(tl.uint8, bitcast=True)
    tl.store(codes + at, code, mask=mask)
    tl.store(scales + rows, scale, mask=rows < groups)


def run(x, quantized, scales, tokens, hidden, group, fp8_max, min_scale):
    if hidden % group:
        raise ValueError("hidden must be a multiple of the group, %d" % group)
    block = triton.next_power_of_2(group)
    groups = tokens * hidden // group
    rows = max(1, 4096 // block) if groups >= 8192 else 4
    _quantise[(triton.cdiv(groups, rows),)](
        x,
        quantized.view(torch.uint8),
        scales,
        groups,
        group,
        fp8_max,
        min_scale,
        ROWS=rows,
        BLOCK=block,
        num_warps=min(8, max(1, rows * block // 512)),
    )
