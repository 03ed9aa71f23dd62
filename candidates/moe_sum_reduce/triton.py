# SPDX-License-Identifier: Apache-2.0
"""An honest Triton sum over a token's expert outputs: one piece of a token's row in each program,
its choices added in float32."""

import triton
import triton.language as tl


@triton.jit
def _add_choices(given, out, hidden, TOP_K: tl.constexpr, BLOCK: tl.constexpr):
    token = tl.program_id(0).to(tl.int64)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = columns < hidden
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for choice in tl.static_range(TOP_K):
        at = (token * TOP_K + choice) * hidden + columns
        total += tl.load(given + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out + token * hidden + columns, total.to(tl.bfloat16), mask=mask)


def run(expert_outputs, out, tokens, top_k, hidden):
    block = min(2048, triton.next_power_of_2(hidden))
    _add_choices[(tokens, triton.cdiv(hidden, block))](
        expert_outputs, out, hidden, TOP_K=top_k, BLOCK=block, num_warps=max(1, block // 256)
    )
