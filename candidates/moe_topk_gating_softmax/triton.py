# SPDX-License-Identifier: Apache-2.0
"""An honest Triton router: the logits of a few tokens in registers, their softmax, and the largest
taken out one after the other."""

import triton
import triton.language as tl


@triton.jit
def _route(
    logits,
    weights,
    ids,
    tokens,
    experts,
    TOP_K: tl.constexpr,
    ROWS: tl.constexpr,
    BLOCK: tl.constexpr,
):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, BLOCK)
    valid = rows < tokens
    mask = valid[:, None] & (columns < experts)[None, :]
    at = rows.to(tl.int64)[:, None] * experts + columns[None, :]
    left = tl.load(logits + at, mask=mask, other=float("-inf"))
    largest = tl.where(valid, tl.max(left, axis=1), 0.0)
    total = tl.sum(tl.exp(left - largest[:, None]), axis=1)
    place = rows.to(tl.int64) * TOP_K
    for choice in range(TOP_K):
        value = tl.max(left, axis=1)
        expert = tl.argmax(left, axis=1)
        tl.store(weights + place + choice, tl.exp(value - largest) / total, mask=valid)
        tl.store(ids + place + choice, expert, mask=valid)
        left = tl.where(columns[None, :] == expert[:, None], float("-inf"), left)


def run(gating_output, topk_weights, topk_ids, tokens, experts, top_k):
    block = triton.next_power_of_2(experts)
    rows = max(1, min(16, 1024 // block)) if tokens >= 1024 else 1
    _route[(triton.cdiv(tokens, rows),)](
        gating_output,
        topk_weights,
        topk_ids,
        tokens,
        experts,
        TOP_K=top_k,
        ROWS=rows,
        BLOCK=block,
        num_warps=max(1, min(4, rows * block // 256)),
    )
