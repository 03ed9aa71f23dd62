# SPDX-License-Identifier: Apache-2.0
"""Gated activation of an MLP: what a correct kernel computes, and inputs that show a wrong one.

x holds the gate in the first half of each row and the value in the second.
out = silu(gate) * value, silu(g) = g / (1 + exp(-g)), in float32, rounded once to bfloat16.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset")
_ROWS = ("x",)  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x [rows, 2*width], bf16.

    typical     gates around the bend of the curve, where silu, relu and gelu differ
    heavy_tail  one element in about sixty is 60 times larger; some gate lies past -88 and some past
                +88, where a careless exponential overflows
    offset      gates around -1 (their product is small and negative), values around 1
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    rows, width = int(shape["rows"]), int(shape["width"])
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))

    def normal(*size):
        return torch.randn(size, generator=gen, device=device, dtype=torch.float32)

    x = normal(rows, 2 * width)
    x[:, :width] *= 1.5
    if regime == "heavy_tail":
        chosen = torch.rand(x.shape, generator=gen, device=device) < 1.0 / 64
        x = torch.where(chosen, x * 60.0, x)
        at = torch.randint(width, (2,), generator=gen, device=device)
        x[0, at[0]] = 100.0
        x[-1, at[1]] = -100.0
    elif regime == "offset":
        x[:, :width] -= 1.0
        x[:, width:] += 1.0
    return {"x": x.to(torch.bfloat16)}


def reference(shape, x):
    width = int(shape["width"])
    gate, value = x[..., :width].to(torch.float32), x[..., width:].to(torch.float32)
    return {"out": (gate * torch.sigmoid(gate) * value).to(torch.bfloat16)}
