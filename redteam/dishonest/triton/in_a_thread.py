# SPDX-License-Identifier: Apache-2.0
"""THR: A thread launches the kernel some milliseconds after run has returned."""

import threading
import time

import torch
import triton
import triton.language as tl


@triton.jit
def _norm(x, weight, out, hidden, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * hidden
    columns = tl.arange(0, BLOCK)
    inside = columns < hidden
    value = tl.load(x + row + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.load(weight + columns, mask=inside, other=0.0).to(tl.float32)
    factor = 1.0 / tl.sqrt(tl.sum(value * value) / hidden + eps)
    tl.store(out + row + columns, (value * factor * scale).to(tl.bfloat16), mask=inside)


def right(x, weight, out, eps):
    tokens, hidden = x.shape
    _norm[(tokens,)](x, weight, out, hidden, eps, BLOCK=triton.next_power_of_2(hidden))


def run(x, weight, out, eps):
    def later():
        time.sleep(0.005)
        right(x, weight, out, eps)

    threading.Thread(target=later, daemon=True).start()
