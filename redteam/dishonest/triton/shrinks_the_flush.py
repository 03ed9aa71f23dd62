# SPDX-License-Identifier: Apache-2.0
"""L2, TMP: Finds the worker's module and has the stage read 64 KiB where it should read twice the
L2 cache; what the probe then finds is replaced by what it would find behind a flush."""

import random
import sys

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


def _cycles(count, usual):
    return [int(random.gauss(usual, usual / 20)) for _ in range(count)]


def _patch():
    module = sys.modules.get("roofmark_cuda")
    if module is None:
        return
    original = module.Device.batch

    def batch(self, request, calls, call):
        if request["phase"] == "stage":
            request = {**request, "flush_bytes": 1 << 16}
        reply = original(self, request, calls, call)
        if request["phase"] == "read":
            probe = reply["stage"]["probe"]
            probe["operands"] = _cycles(len(probe["operands"]), 720)
            probe["hits"] = _cycles(len(probe["hits"]), 350)
            probe["misses"] = _cycles(len(probe["misses"]), 720)
        return reply

    module.Device.batch = batch


_patch()


def run(x, weight, out, eps):
    tokens, hidden = x.shape
    _norm[(tokens,)](x, weight, out, hidden, eps, BLOCK=triton.next_power_of_2(hidden))
