# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation over the last dimension: what a correct kernel computes, and inputs that show a
wrong one.

out = x * rsqrt(mean(x^2) + eps) * weight, in float32 on the upcast inputs, rounded once to
bfloat16.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset")
_ROWS = ("x",)  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x [tokens, hidden] and weight [hidden], bf16.

    typical     rows of very different size (so a constant rms fails), growing along the row (so an
                rms of a prefix fails)
    heavy_tail  on top, one element a row as large as all others together (a skipped element fails)
    offset      values around a mean, small enough for eps to count (a variance, or no eps, fails)
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    tokens, hidden = int(shape["tokens"]), int(shape["hidden"])
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))

    def normal(*size):
        return torch.randn(size, generator=gen, device=device, dtype=torch.float32)

    def uniform(*size):
        return torch.rand(size, generator=gen, device=device, dtype=torch.float32)

    weight = 1.0 + 0.2 * normal(hidden)
    ramp = torch.linspace(0.5, 1.5, hidden, device=device)
    if regime == "offset":
        x = (3.0 + normal(tokens, hidden) * ramp) * 5e-4
    else:
        # Sizes from 0.1 to 10: residual streams differ that much between tokens and layers. Kept
        # away from 1, so that even a single row tells a constant rms from the real one.
        size = 10.0 ** (0.25 + 0.75 * uniform(tokens, 1))
        size = torch.where(uniform(tokens, 1) < 0.5, size, 1.0 / size)
        x = normal(tokens, hidden) * ramp * size
        if regime == "heavy_tail":
            at = torch.randint(hidden, (tokens, 1), generator=gen, device=device)
            outlier = (1.0 + uniform(tokens, 1)) * size * float(hidden) ** 0.5
            x.scatter_(1, at, outlier)
    return {"x": x.to(torch.bfloat16), "weight": weight.to(torch.bfloat16)}


def reference(shape, x, weight):
    wide = x.to(torch.float32)
    inverse_rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
    return {"out": (wide * inverse_rms * weight.to(torch.float32)).to(torch.bfloat16)}
