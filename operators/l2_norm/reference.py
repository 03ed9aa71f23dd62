# SPDX-License-Identifier: Apache-2.0
"""L2 normalisation over the last dimension: what a correct kernel computes, and inputs that show a
wrong one.

out = x * rsqrt(sum(x^2) + eps), in float32 on the upcast input, rounded once to bfloat16.
"""

import torch

from roofmark_ref import rows

_ROWS = ("x",)  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x [tokens, hidden], bf16: rows of rows.stream. Under offset the sum of a row's squares is
    about as large as eps."""
    gen = rows.generator(seed, regime, device)
    size = (int(shape["tokens"]), int(shape["hidden"]))
    x = torch.empty(size, dtype=torch.bfloat16, device=device)

    def draw(count, columns):
        return rows.stream(count, columns, regime, gen, small=4e-4 / float(columns) ** 0.5)

    return {"x": rows.fill(x, draw, gen)}


def reference(shape, x):
    out = torch.empty_like(x)
    for piece in rows.pieces(*x.shape):
        wide = x[piece].to(torch.float32)
        inverse = torch.rsqrt(wide.pow(2).sum(dim=-1, keepdim=True) + float(shape["eps"]))
        out[piece] = wide * inverse
    return {"out": out}
