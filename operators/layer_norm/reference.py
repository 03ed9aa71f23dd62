# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation over the last dimension: what a correct kernel computes, and inputs that show
a wrong one.

out = (x - mean(x)) * rsqrt(var(x) + eps) * weight + bias, with the biased variance, in float32 on
the upcast inputs, rounded once to bfloat16.
"""

import torch

from roofmark_ref import rows

_ROWS = ("x",)  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x [tokens, hidden], weight and bias [hidden], bf16.

    Rows of rows.stream, each around a mean of its own as large as its spread, so that a mean left
    out shows. Under offset the mean is three times the spread and the variance about as large as
    eps.
    """
    gen = rows.generator(seed, regime, device)
    tokens, hidden = int(shape["tokens"]), int(shape["hidden"])
    weight = 1.0 + 0.2 * rows.normal((hidden,), gen)
    bias = 0.3 * rows.normal((hidden,), gen)
    x = torch.empty((tokens, hidden), dtype=torch.bfloat16, device=device)

    def draw(count, columns):
        stream = rows.stream(count, columns, regime, gen, small=3e-3)
        if regime == "offset":
            return stream
        side = torch.where(rows.uniform((count, 1), gen) < 0.5, 1.0, -1.0)
        mean = side * (0.75 + 0.5 * rows.uniform((count, 1), gen))
        return stream + mean * stream.pow(2).mean(dim=-1, keepdim=True).sqrt()

    rows.fill(x, draw, gen)
    return {"x": x, "weight": weight.to(torch.bfloat16), "bias": bias.to(torch.bfloat16)}


def reference(shape, x, weight, bias):
    out = torch.empty_like(x)
    wide_weight, wide_bias = weight.to(torch.float32), bias.to(torch.float32)
    for piece in rows.pieces(*x.shape):
        wide = x[piece].to(torch.float32)
        wide = wide - wide.mean(dim=-1, keepdim=True)
        inverse = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
        out[piece] = wide * inverse * wide_weight + wide_bias
    return {"out": out}
