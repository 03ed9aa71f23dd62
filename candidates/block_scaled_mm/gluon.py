# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon block-scaled fp8 product: codes are widened to bf16, which holds each, and
multiplied by warp-wide tensor-core instructions, a group of the inner dimension at a time; each
group's sums are scaled and added in float32."""

import torch
import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2


@gluon.jit
def _multiply(
    a,
    b,
    a_scales,
    b_scales,
    c,
    m,
    n,
    k,
    k_groups,
    GROUP: gl.constexpr,
    ROWS: gl.constexpr,
    COLUMNS: gl.constexpr,
):
    a_layout: gl.constexpr = gl.BlockedLayout([1, 16], [4, 8], [4, 1], [1, 0])
    b_layout: gl.constexpr = gl.BlockedLayout([16, 1], [8, 4], [1, 4], [0, 1])
    c_layout: gl.constexpr = gl.NVMMADistributedLayout([2, 0], [2, 2], [16, 8])
    first_row = gl.program_id(0) * ROWS
    first_column = gl.program_id(1) * COLUMNS
    a_row = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, a_layout))
    a_inner = gl.arange(0, GROUP, layout=gl.SliceLayout(0, a_layout))
    b_column = first_column + gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, b_layout))
    b_inner = gl.arange(0, GROUP, layout=gl.SliceLayout(1, b_layout))
    row = first_row + gl.arange(0, ROWS, layout=gl.SliceLayout(1, c_layout))
    column = first_column + gl.arange(0, COLUMNS, layout=gl.SliceLayout(0, c_layout))
    a_at = a_row.to(gl.int64)[:, None] * k + a_inner[None, :]
    b_at = b_column.to(gl.int64)[None, :] * k + b_inner[:, None]
    sums = gl.zeros([ROWS, COLUMNS], gl.float32, layout=c_layout)
    none = gl.zeros([ROWS, COLUMNS], gl.float32, layout=c_layout)
    for group in range(k_groups):
        left = k - group * GROUP
        mask = (a_row < m)[:, None] & (a_inner < left)[None, :]
        codes = gl.load(a + a_at + group * GROUP, mask=mask, other=0)
        ours = codes.to(gl.float8e4nv, bitcast=True).to(gl.bfloat16)
        mask = (b_column < n)[None, :] & (b_inner < left)[:, None]
        codes = gl.load(b + b_at + group * GROUP, mask=mask, other=0)
        theirs = codes.to(gl.float8e4nv, bitcast=True).to(gl.bfloat16)
        ours = gl.convert_layout(ours, gl.DotOperandLayout(0, c_layout, 2))
        theirs = gl.convert_layout(theirs, gl.DotOperandLayout(1, c_layout, 2))
        part = mma_v2(ours, theirs, none)
        of_row = gl.load(a_scales + row * k_groups + group, mask=row < m, other=0.0)
        of_column = b_scales + column // GROUP * k_groups + group
        of_column = gl.load(of_column, mask=column < n, other=0.0)
        sums += part * of_row[:, None] * of_column[None, :]
    mask = (row < m)[:, None] & (column < n)[None, :]
    gl.store(c + (row.to(gl.int64)[:, None] * n + column[None, :]), sums, mask=mask)


def run(a, b, a_scales, b_scales, c, m, n, k, group, k_groups):
    rows, columns = 64, 64
    _multiply[(triton.cdiv(m, rows), triton.cdiv(n, columns))](
        a.view(torch.uint8),
        b.view(torch.uint8),
        a_scales,
        b_scales,
        c,
        m,
        n,
        k,
        k_groups,
        GROUP=group,
        ROWS=rows,
        COLUMNS=columns,
        num_warps=4,
    )
