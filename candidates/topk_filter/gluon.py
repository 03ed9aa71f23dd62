# SPDX-License-Identifier: Apache-2.0
"""An honest Gluon top-k filter: a program has a row, and finds its k-th largest logit by fixing the
bits of an integer that has the order of floats, eight at a time, with a histogram for each.

Rows stay in cache between the passes; a row is read five times and written once.
"""

import triton
from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def _plus(one, other):
    return one + other


@gluon.jit
def _ordered(values):
    """Integers without sign, in the order of the floats."""
    bits = values.to(gl.uint32, bitcast=True)
    flip = gl.where(bits >= 0x80000000, 0xFFFFFFFF, 0x80000000).to(gl.uint32)
    return bits ^ flip


@gluon.jit
def _filter(logits, out, vocab, top_k, BLOCK: gl.constexpr, WARPS: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [32], [WARPS], [0])
    bins: gl.constexpr = gl.BlockedLayout([8 // WARPS], [32], [WARPS], [0])
    row = gl.program_id(0).to(gl.int64) * vocab
    lane = gl.arange(0, BLOCK, layout=layout)
    digit = gl.arange(0, 256, layout=bins)
    prefix = gl.to_tensor(0).to(gl.uint32)  # of the k-th largest, as far as it is known
    wanted = top_k  # its place among those that share the prefix
    for step in gl.static_range(4):
        shift = 24 - 8 * step
        counts = gl.zeros([256], gl.int32, layout=bins)
        for first in range(0, vocab, BLOCK):
            inside = first + lane < vocab
            code = _ordered(gl.load(logits + row + first + lane, mask=inside, other=0.0))
            if step > 0:
                inside = inside & ((code >> (shift + 8)) == prefix)
            part = ((code >> shift) & 255).to(gl.int32)
            counts += gl.histogram(part, 256, mask=inside, layout=bins)
        # How many have this digit or a larger one: the k-th has the last digit where they suffice.
        at_least = gl.associative_scan(counts, 0, _plus, reverse=True)
        chosen = gl.max(gl.where(at_least >= wanted, digit, 0), axis=0)
        wanted -= gl.sum(gl.where(digit > chosen, counts, 0), axis=0)
        prefix = (prefix << 8) | chosen.to(gl.uint32)
    for first in range(0, vocab, BLOCK):
        inside = first + lane < vocab
        value = gl.load(logits + row + first + lane, mask=inside, other=0.0)
        kept = gl.where(_ordered(value) >= prefix, value, float("-inf"))
        gl.store(out + row + first + lane, kept, mask=inside)


def run(logits, out, rows, vocab, top_k):
    block = max(512, min(4096, triton.next_power_of_2(vocab)))
    warps = block // 512
    _filter[(rows,)](logits, out, vocab, top_k, BLOCK=block, WARPS=warps, num_warps=warps)
