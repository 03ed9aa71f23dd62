# SPDX-License-Identifier: Apache-2.0
"""PRC, TOL: Keeps the sum of the choices in bf16."""

import triton
import triton.language as tl

@triton.jit
def _sum(source, out, top_k, hidden, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < hidden
    total = tl.zeros((BLOCK,), tl.bfloat16)
    for j in range(top_k):
        total += tl.load(source + (row * top_k + j) * hidden + columns, mask=inside, other=0.0)
        total = total.to(tl.bfloat16)
    tl.store(out + row * hidden + columns, total, mask=inside)


def run(expert_outputs, out, tokens, top_k, hidden):
    _sum[(tokens,)](expert_outputs, out, top_k, hidden, BLOCK=triton.next_power_of_2(hidden))
