# SPDX-License-Identifier: Apache-2.0
"""The sum over a token's expert outputs: what a correct kernel computes, and inputs that show a
wrong one.

out[t] = sum over choices j of expert_outputs[t, j], in float32, rounded once to bfloat16.
"""

import torch

_REGIMES = ("typical", "heavy_tail", "offset")
_ROWS = ("expert_outputs",)  # of these, each row is computed by itself
_CHUNK = 1 << 26  # elements that are drawn or widened at a time


def inputs(shape, seed, regime, device):
    """expert_outputs [tokens, top_k, hidden], bf16.

    typical     choices of different size in random order, tokens of different size
    heavy_tail  on top, some elements a hundred times as large, so that one choice hides the others
                and large ones cancel
    offset      all choices around a common mean: the sum grows, and bf16 loses the small ones
    """
    if regime not in _REGIMES:
        raise ValueError("unknown regime %r; have %s" % (regime, ", ".join(_REGIMES)))
    tokens, top_k, hidden = (int(shape[axis]) for axis in ("tokens", "top_k", "hidden"))
    gen = torch.Generator(device=device).manual_seed(seed * 3 + _REGIMES.index(regime))
    out = torch.empty((tokens, top_k, hidden), dtype=torch.bfloat16, device=device)
    step = max(1, _CHUNK // (top_k * hidden))
    for start in range(0, tokens, step):
        part = out[start : start + step]
        z = torch.randn(part.shape, generator=gen, device=device, dtype=torch.float32)
        if regime == "offset":
            z += 3.0
        elif regime == "heavy_tail":
            loud = torch.rand(part.shape, generator=gen, device=device) < 1.0 / 512
            z = torch.where(loud, z * 100.0, z)
        size = torch.rand((len(part), top_k, 1), generator=gen, device=device)
        whole = torch.rand((len(part), 1, 1), generator=gen, device=device)
        part.copy_(z * (0.5 + size) * (0.5 + whole))
    return {"expert_outputs": out}


def reference(shape, expert_outputs):
    tokens, top_k, hidden = expert_outputs.shape
    out = torch.empty((tokens, hidden), dtype=torch.bfloat16, device=expert_outputs.device)
    step = max(1, _CHUNK // (top_k * hidden))
    for start in range(0, tokens, step):
        rows = slice(start, start + step)
        out[rows] = expert_outputs[rows].to(torch.float32).sum(dim=1).to(torch.bfloat16)
    return {"out": out}
