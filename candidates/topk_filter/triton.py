# SPDX-License-Identifier: Apache-2.0
"""An honest Triton top-k filter: a program has a row, and finds its k-th largest logit by fixing
the bits of an integer that has the order of floats, eight at a time, with a histogram for each.

Rows stay in cache between the passes; a row is read five times and written once.
"""

import triton
import triton.language as tl


@triton.jit
def _ordered(values):
    """Integers without sign, in the order of the floats."""
    bits = values.to(tl.uint32, bitcast=True)
    flip = tl.where(bits >= 0x80000000, 0xFFFFFFFF, 0x80000000).to(tl.uint32)
    return bits ^ flip


@triton.jit(do_not_specialize=["top_k"])
def _filter(logits, out, vocab, top_k, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * vocab
    lane = tl.arange(0, BLOCK)
    digit = tl.arange(0, 256)
    prefix = tl.zeros((), dtype=tl.uint32)  # of the k-th largest, as far as it is known
    wanted = top_k  # its place among those that share the prefix
    for step in tl.static_range(4):
        shift = 24 - 8 * step
        counts = tl.zeros((256,), dtype=tl.int32)
        for first in range(0, vocab, BLOCK):
            inside = first + lane < vocab
            code = _ordered(tl.load(logits + row + first + lane, mask=inside, other=0.0))
            if step > 0:
                inside = inside & ((code >> (shift + 8)) == prefix)
            counts += tl.histogram(((code >> shift) & 255).to(tl.int32), 256, mask=inside)
        # How many have this digit or a larger one: the k-th has the last digit where they suffice.
        at_least = tl.sum(counts, axis=0) - tl.cumsum(counts, axis=0) + counts
        chosen = tl.max(tl.where(at_least >= wanted, digit, 0), axis=0)
        wanted -= tl.sum(tl.where(digit > chosen, counts, 0), axis=0)
        prefix = (prefix << 8) | chosen.to(tl.uint32)
    for first in range(0, vocab, BLOCK):
        inside = first + lane < vocab
        value = tl.load(logits + row + first + lane, mask=inside, other=0.0)
        kept = tl.where(_ordered(value) >= prefix, value, float("-inf"))
        tl.store(out + row + first + lane, kept, mask=inside)


def run(logits, out, rows, vocab, top_k):
    block = min(8192, triton.next_power_of_2(vocab))
    _filter[(rows,)](logits, out, vocab, top_k, BLOCK=block, num_warps=max(1, block // 512))
