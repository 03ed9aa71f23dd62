# SPDX-License-Identifier: Apache-2.0
"""An honest Triton RMSNorm: whole rows in registers, several short ones in a program."""

import triton
import triton.language as tl


@triton.jit
def _norm_rows(x, weight, out, tokens, hidden, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    in_row = columns < hidden
    mask = (rows < tokens)[:, None] & in_row[None, :]
    at = rows.to(tl.int64)[:, None] * hidden + columns[None, :]
    values = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=in_row, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) / hidden + eps)
    tl.store(out + at, (values * factor[:, None] * scale[None, :]).to(tl.bfloat16), mask=mask)


def run(x, weight, out, tokens, hidden, eps):
    block = triton.next_power_of_2(hidden)
    rows = max(1, 2048 // block) if tokens >= 4096 else 1
    warps = min(16, max(1, rows * block // 512))
    _norm_rows[(triton.cdiv(tokens, rows),)](
        x, weight, out, tokens, hidden, eps, ROWS=rows, BLOCK=block, num_warps=warps
    )
