# SPDX-License-Identifier: Apache-2.0
"""An honest Triton RMSNorm with a SiLU gate: rows are heads of 128, so many share a program."""

import triton
import triton.language as tl


@triton.jit
def _norm_and_gate(x, weight, z, out, rows, hidden, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    in_row = columns < hidden
    mask = (row < rows)[:, None] & in_row[None, :]
    at = row.to(tl.int64)[:, None] * hidden + columns[None, :]
    values = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    gate = tl.load(z + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=in_row, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) / hidden + eps)
    result = values * factor[:, None] * scale[None, :] * (gate * tl.sigmoid(gate))
    tl.store(out + at, result.to(tl.bfloat16), mask=mask)


def run(x, weight, z, out, rows, hidden, eps):
    block = triton.next_power_of_2(hidden)
    many = max(1, 4096 // block) if rows * hidden >= 1 << 20 else 1
    warps = min(16, max(1, many * block // 512))
    _norm_and_gate[(triton.cdiv(rows, many),)](
        x, weight, z, out, rows, hidden, eps, ROWS=many, BLOCK=block, num_warps=warps
    )
