# SPDX-License-Identifier: Apache-2.0
"""Keeping the top_k largest logits of each row: what a correct kernel computes, and inputs that
show a wrong one.

out = logits where logits >= the row's k-th largest, -inf elsewhere. The k-th largest differs from
the next, so exactly top_k entries of a row stay.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset", "masked")
_ROWS = ("logits",)  # of these, each row is computed by itself
_CHUNK = 1 << 26  # elements handled at a time
_BANNED = -1e30  # a logit that an earlier filter has ruled out


def _part(logits, largest, regime, gen):
    """One piece of rows: logits without ties around the k-th place, which every precision below
    float32 would lump together with the next."""
    rows, vocab = logits.shape
    values, places = logits.topk(min(largest + 1, vocab), dim=1)
    # One of those that stay moves to the last column, so that none may be left out.
    rank = torch.randint(largest, (rows, 1), generator=gen, device=logits.device)
    there, last = places.gather(1, rank), torch.full_like(rank, vocab - 1)
    moved, kept = logits.gather(1, last), values.gather(1, rank)
    logits.scatter_(1, there, moved)
    logits.scatter_(1, last, kept)
    if vocab == largest:
        return
    values, places = logits.topk(largest + 1, dim=1)
    threshold = values[:, -2:-1]
    below = torch.nextafter(threshold, torch.full_like(threshold, float("-inf")))
    # Whoever else equals the k-th, and the next one in any case, goes one unit below it.
    staying = torch.zeros_like(logits, dtype=torch.bool).scatter_(1, places[:, :-1], True)
    logits.copy_(torch.where((logits == threshold) & ~staying, below, logits))
    logits.scatter_(1, places[:, -1:], below)


def _mask(logits, largest, uniform):
    """Rules out all but `largest` logits of a row, and in every other row all but twice as many."""
    drawn = uniform(*logits.shape)
    for step, allowed in enumerate((largest, min(2 * largest, logits.shape[1]))):
        rows = drawn[step::2]
        if len(rows):
            least = rows.topk(allowed, dim=1).values[:, -1:]
            logits[step::2].masked_fill_(rows < least, _BANNED)


def inputs(shape, seed, regime, device):
    """logits [rows, vocab], f32.

    typical     rows of different spread and level
    heavy_tail  a few logits far above and far below all others, some ruled out by a filter before
    offset      all logits well below zero, with a small spread
    masked      all but top_k or twice as many logits of a row ruled out by a filter before
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    rows, vocab, largest = int(shape["rows"]), int(shape["vocab"]), int(shape["top_k"])
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))

    def normal(*size):
        return torch.randn(size, generator=gen, device=device)

    def uniform(*size):
        return torch.rand(size, generator=gen, device=device)

    logits = torch.empty((rows, vocab), device=device)
    for part in logits.split(max(1, _CHUNK // vocab)):
        part.copy_(normal(*part.shape))
        if regime == "offset":
            part.mul_(0.05).sub_(20.0 + 5.0 * uniform(len(part), 1))
        else:
            part.mul_(1.0 + 3.0 * uniform(len(part), 1)).add_(4.0 * normal(len(part), 1))
        if regime == "heavy_tail":
            loud = uniform(*part.shape) < 4.0 / vocab
            part.mul_(1.0 + 20.0 * loud)
            part.masked_fill_(uniform(*part.shape) < 1.0 / 64, _BANNED)
        if regime == "masked":
            _mask(part, largest, uniform)
        _part(part, largest, regime, gen)
    return {"logits": logits}


def reference(shape, logits):
    out = torch.empty_like(logits)
    step = max(1, _CHUNK // logits.shape[1])
    for kept, part in zip(out.split(step), logits.split(step)):
        threshold = part.topk(int(shape["top_k"]), dim=1).values[:, -1:]
        kept.copy_(part.masked_fill(part < threshold, float("-inf")))
    return {"out": out}
