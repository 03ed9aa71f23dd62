# SPDX-License-Identifier: Apache-2.0
"""Dynamic fp8 quantisation of each row, in either fp8 format: what a correct kernel computes, and
inputs that show a wrong one.

scale = max(largest |x| of the row / fp8_max, min_scale) in float32; q = nearest code of x / scale.
"""

import torch

from roofmark_ref import quant, rows


def inputs(shape, seed, regime, device):
    """x [tokens, hidden], bf16: rows of rows.stream, whose largest element quant.decisive moves.

    heavy_tail rows use only the bottom of the code range beside their outlier (subnormal codes
    show); offset rows are small. No row is all zero.
    """
    gen = rows.generator(seed, regime, device)
    size = (int(shape["tokens"]), int(shape["hidden"]))
    x = torch.empty(size, dtype=torch.bfloat16, device=device)

    def draw(count, columns):
        stream = rows.stream(count, columns, regime, gen)
        if regime == "heavy_tail":
            stream *= 0.1 ** (3.0 * rows.uniform((count, columns), gen))
            at = torch.randint(columns, (count, 1), generator=gen, device=device)
            stream.scatter_(1, at, -3.0 * stream.abs().amax(dim=1, keepdim=True))
        return quant.decisive(stream.to(torch.bfloat16))

    return {"x": rows.fill(x, draw, gen)}


def reference(shape, x):
    q, scale = quant.quantise(x, shape)
    return {"q": q, "scale": scale}
