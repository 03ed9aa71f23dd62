# SPDX-License-Identifier: Apache-2.0
"""An honest Triton residual addition and RMSNorm: the sum is rounded to bf16 once, written, and
normalised from registers."""

import triton
import triton.language as tl


@triton.jit
def _add_and_norm(
    x,
    residual,
    weight,
    out,
    residual_out,
    tokens,
    hidden,
    eps,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    in_row = columns < hidden
    mask = (rows < tokens)[:, None] & in_row[None, :]
    at = rows.to(tl.int64)[:, None] * hidden + columns[None, :]
    total = tl.load(x + at, mask=mask, other=0.0).to(tl.float32)
    total += tl.load(residual + at, mask=mask, other=0.0).to(tl.float32)
    rounded = total.to(tl.bfloat16)
    tl.store(residual_out + at, rounded, mask=mask)
    values = rounded.to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) / hidden + eps)
    scale = tl.load(weight + columns, mask=in_row, other=0.0).to(tl.float32)
    tl.store(out + at, (values * factor[:, None] * scale[None, :]).to(tl.bfloat16), mask=mask)


def run(x, residual, weight, out, residual_out, tokens, hidden, eps):
    block = triton.next_power_of_2(hidden)
    rows = max(1, 2048 // block) if tokens >= 4096 else 1
    warps = min(16, max(1, rows * block // 512))
    _add_and_norm[(triton.cdiv(tokens, rows),)](
        x,
        residual,
        weight,
        out,
        residual_out,
        tokens,
        hidden,
        eps,
        ROWS=rows,
        BLOCK=block,
        num_warps=warps,
    )
