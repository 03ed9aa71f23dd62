# SPDX-License-Identifier: Apache-2.0
"""An honest Triton SiLU-and-multiply: tiles of whole columns, so that accesses stay contiguous."""

import triton
import triton.language as tl


@triton.jit
def _gate(x, out, rows, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    mask = (row < rows)[:, None] & (column < width)[None, :]
    source = row.to(tl.int64)[:, None] * (2 * width) + column[None, :]
    gate = tl.load(x + source, mask=mask, other=0.0).to(tl.float32)
    value = tl.load(x + source + width, mask=mask, other=0.0).to(tl.float32)
    result = gate * tl.sigmoid(gate) * value
    tl.store(
        out + row.to(tl.int64)[:, None] * width + column[None, :], result.to(tl.bfloat16), mask=mask
    )


def run(x, out, rows, width):
    # The largest power of two that divides the width, so that no lane is masked, within reason.
    columns = min(1024, width & -width)
    if columns < 128:
        columns = min(1024, triton.next_power_of_2(width))
    many = max(1, 2048 // columns) if rows * width >= 1 << 21 else 1
    grid = (triton.cdiv(rows, many), triton.cdiv(width, columns))
    _gate[grid](
        x,
        out,
        rows,
        width,
        ROWS=many,
        COLUMNS=columns,
        num_warps=max(1, min(8, many * columns // 256)),
    )
