# SPDX-License-Identifier: Apache-2.0
"""Residual addition, RMS normalisation and dynamic fp8 quantisation of each row in one pass, in
either fp8 format: what a correct kernel computes, and inputs that show a wrong one.

residual_out = x + residual, rounded to bfloat16; n = residual_out * rsqrt(mean(residual_out^2) +
eps) * weight in float32, not rounded; scale = max(largest |n| of the row / fp8_max, min_scale);
quantized = nearest code of n / scale.
"""

import torch

from roofmark_ref import quant, rows


def inputs(shape, seed, regime, device):
    """x and residual [tokens, hidden], weight [hidden], bf16.

    Rows of rows.with_residual. The rms of a row cancels in its codes, so only its scale shows a
    wrong one; rows of very different size and, under offset, rows small enough for eps to count are
    for that. Weights have a size of their own as well, or every row's scale would be about 4.5 /
    fp8_max.
    """
    gen = rows.generator(seed, regime, device)
    tokens, hidden = int(shape["tokens"]), int(shape["hidden"])
    weight = (1.0 + 0.2 * rows.normal((hidden,), gen)) * rows.sizes(1, gen)[0]
    x, residual = rows.with_residual(tokens, hidden, regime, gen)
    return {"x": x, "residual": residual, "weight": weight.to(torch.bfloat16)}


def reference(shape, x, residual, weight):
    codes = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    scale = torch.empty((x.shape[0], 1), dtype=torch.float32, device=x.device)
    residual_out = torch.empty_like(x)
    wide_weight = weight.to(torch.float32)
    for piece in rows.pieces(*x.shape):
        total = x[piece].to(torch.float32) + residual[piece].to(torch.float32)
        residual_out[piece] = total.to(torch.bfloat16)
        wide = residual_out[piece].to(torch.float32)
        inverse_rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
        normed = wide * inverse_rms * wide_weight
        scale[piece] = quant.scales_of(normed, float(shape["fp8_max"]), float(shape["min_scale"]))
        codes[piece] = quant.codes_of(normed, scale[piece], shape)
    return {"quantized": codes, "scale": scale, "residual_out": residual_out}
