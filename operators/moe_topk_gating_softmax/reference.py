# SPDX-License-Identifier: Apache-2.0
"""Softmax routing: what a correct kernel computes, and inputs that show a wrong one.

The softmax runs in float32 over all experts of a row; the top_k largest probabilities are returned
in descending order with the ids of their experts, not divided by their sum.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset", "masked")
_ROWS = ("gating_output",)  # of these, each row is computed by itself
_APART = 2e-3  # logits of a row differ by at least this much: far more than rounding moves them
_BANNED = -1e30  # a logit that grouped routing has ruled out


def inputs(shape, seed, regime, device):
    """gating_output [tokens, experts], f32, no two values of a row that may be chosen within 2e-3.

    typical     logits of standard deviation 2: the chosen carry most of the sum, not all
    heavy_tail  logits over some 60 units, so that weights span many orders of magnitude
    offset      rows around means from -200 to 200: exponentials overflow, or all vanish, unless the
                maximum is taken off
    masked      all but top_k or twice as many experts of a row ruled out, all with one value

    The last row's largest logit belongs to the last expert.
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    tokens, experts = int(shape["tokens"]), int(shape["experts"])
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    z = torch.randn((tokens, experts), generator=gen, device=device, dtype=torch.float32)
    if regime == "heavy_tail":
        z = z * z.abs() * 2.0
    z = (2.0 * z).sort(dim=1).values + _APART * torch.arange(experts, device=device)
    if regime == "offset":
        mean = torch.rand((tokens, 1), generator=gen, device=device) * 100.0 + 100.0
        below = torch.rand((tokens, 1), generator=gen, device=device) < 0.5
        z = z + torch.where(below, -mean, mean)
    if regime == "masked":
        drawn = torch.rand((tokens, experts), generator=gen, device=device)
        drawn[:, -1] = 2.0  # the largest stays
        for step, times in enumerate((1, 2)):
            allowed = min(times * int(shape["top_k"]), experts)
            if len(drawn[step::2]):
                least = drawn[step::2].topk(allowed, dim=1).values[:, -1:]
                z[step::2] = z[step::2].masked_fill(drawn[step::2] < least, _BANNED)
    # Where each value goes; its largest is the last of the sorted ones.
    place = torch.rand((tokens, experts), generator=gen, device=device, dtype=torch.float64)
    place[-1, -1] = 2.0
    return {"gating_output": z.gather(1, place.argsort(dim=1).argsort(dim=1))}


def reference(shape, gating_output):
    largest = gating_output.topk(int(shape["top_k"]), dim=1, sorted=True)
    weights = torch.softmax(gating_output, dim=1).gather(1, largest.indices)
    return {"topk_weights": weights, "topk_ids": largest.indices.to(torch.int32)}
