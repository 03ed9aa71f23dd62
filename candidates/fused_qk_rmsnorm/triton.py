# SPDX-License-Identifier: Apache-2.0
"""An honest Triton RMSNorm of packed query and key heads: a row is one head of one token; value
heads are copied."""

import triton
import triton.language as tl


@triton.jit
def _norm_heads(
    packed,
    q_weight,
    k_weight,
    out,
    rows,
    heads,
    kv_heads,
    head_size,
    eps,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    head = row % (heads + 2 * kv_heads)
    columns = tl.arange(0, BLOCK)
    in_row = columns < head_size
    mask = (row < rows)[:, None] & in_row[None, :]
    at = row.to(tl.int64)[:, None] * head_size + columns[None, :]
    given = tl.load(packed + at, mask=mask, other=0.0)
    values = given.to(tl.float32)
    of_q = tl.load(q_weight + columns, mask=in_row, other=0.0).to(tl.float32)
    of_k = tl.load(k_weight + columns, mask=in_row, other=0.0).to(tl.float32)
    scale = tl.where((head < heads)[:, None], of_q[None, :], of_k[None, :])
    factor = 1.0 / tl.sqrt(tl.sum(values * values, axis=1) / head_size + eps)
    normed = (values * factor[:, None] * scale).to(given.dtype)
    is_value = (head >= heads + kv_heads)[:, None]
    tl.store(out + at, tl.where(is_value, given, normed), mask=mask)


def run(hidden_states, q_weight, k_weight, out, tokens, heads, kv_heads, head_size, eps):
    block = triton.next_power_of_2(head_size)
    rows = tokens * (heads + 2 * kv_heads)
    many = max(1, 2048 // block) if rows >= 4096 else 1
    _norm_heads[(triton.cdiv(rows, many),)](
        hidden_states,
        q_weight,
        k_weight,
        out,
        rows,
        heads,
        kv_heads,
        head_size,
        eps,
        ROWS=many,
        BLOCK=block,
        num_warps=min(8, max(1, many * block // 512)),
    )
