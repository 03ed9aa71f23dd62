# SPDX-License-Identifier: Apache-2.0
"""Residual addition and RMS normalisation: what a correct kernel computes, and inputs that show a
wrong one.

residual_out = x + residual, rounded to bfloat16; out = residual_out * rsqrt(mean(residual_out^2) +
eps) * weight, in float32 on the rounded sum, rounded once to bfloat16.
"""

import torch

from roofmark_ref import rows

_ROWS = ("x", "residual")  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x and residual [tokens, hidden], weight [hidden], bf16.

    Rows of rows.with_residual. Under offset they are small enough for eps to count.
    """
    gen = rows.generator(seed, regime, device)
    tokens, hidden = int(shape["tokens"]), int(shape["hidden"])
    weight = 1.0 + 0.2 * rows.normal((hidden,), gen)
    x, residual = rows.with_residual(tokens, hidden, regime, gen)
    return {"x": x, "residual": residual, "weight": weight.to(torch.bfloat16)}


def reference(shape, x, residual, weight):
    out, residual_out = torch.empty_like(x), torch.empty_like(x)
    wide_weight = weight.to(torch.float32)
    for piece in rows.pieces(*x.shape):
        total = x[piece].to(torch.float32) + residual[piece].to(torch.float32)
        residual_out[piece] = total.to(torch.bfloat16)
        wide = residual_out[piece].to(torch.float32)
        inverse_rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
        out[piece] = (wide * inverse_rms * wide_weight).to(torch.bfloat16)
    return {"out": out, "residual_out": residual_out}
