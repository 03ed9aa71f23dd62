# SPDX-License-Identifier: Apache-2.0
"""An honest Triton L2 normalisation: whole rows in registers, several short ones in a program."""

import triton
import triton.language as tl


@triton.jit
def _norm_rows(x, out, tokens, hidden, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    mask = (rows < tokens)[:, None] & (columns < hidden)[None, :]
    at = rows.to(tl.int64)[:, None] * hidden + columns[None, :]
    values = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) + eps)
    tl.store(out + at, (values * factor[:, None]).to(tl.bfloat16), mask=mask)


def run(x, out, tokens, hidden, eps):
    block = triton.next_power_of_2(hidden)
    rows = max(1, 2048 // block) if tokens >= 4096 else 1
    warps = min(16, max(1, rows * block // 512))
    _norm_rows[(triton.cdiv(tokens, rows),)](
        x, out, tokens, hidden, eps, ROWS=rows, BLOCK=block, num_warps=warps
    )
