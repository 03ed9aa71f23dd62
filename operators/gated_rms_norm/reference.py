# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation times a SiLU gate: what a correct kernel computes, and inputs that show a wrong
one.

out = x * rsqrt(mean(x^2) + eps) * weight * silu(z), silu(z) = z / (1 + exp(-z)), in float32,
rounded once to bfloat16. The norm comes before the gate: z has no part in the mean.
"""

import torch

from roofmark_ref import rows

_ROWS = ("x", "z")  # of these, each row is computed by itself


def inputs(shape, seed, regime, device):
    """x [rows, hidden], weight [hidden], z [rows, hidden], bf16.

    x is rows of rows.stream. z lies around the bend of the curve, where silu, relu and gelu differ;
    under heavy_tail one gate in about sixty is 60 times larger, past where a careless exponential
    overflows; under offset gates are around -1 and x is small enough for eps to count.
    """
    gen = rows.generator(seed, regime, device)
    count, hidden = int(shape["rows"]), int(shape["hidden"])
    weight = 1.0 + 0.2 * rows.normal((hidden,), gen)
    x = torch.empty((count, hidden), dtype=torch.bfloat16, device=device)
    z = torch.empty_like(x)

    def draw_gate(part, columns):
        gate = rows.normal((part, columns), gen) * 1.5
        if regime == "heavy_tail":
            gate = torch.where(rows.uniform((part, columns), gen) < 1.0 / 64, gate * 60.0, gate)
        return gate - 1.0 if regime == "offset" else gate

    rows.fill(x, lambda part, columns: rows.stream(part, columns, regime, gen), gen)
    rows.fill(z, draw_gate, gen)
    if regime == "heavy_tail":
        z[0, 0], z[-1, -1] = 100.0, -100.0
    return {"x": x, "weight": weight.to(torch.bfloat16), "z": z}


def reference(shape, x, weight, z):
    out = torch.empty_like(x)
    wide_weight = weight.to(torch.float32)
    for piece in rows.pieces(*x.shape):
        wide, gate = x[piece].to(torch.float32), z[piece].to(torch.float32)
        inverse_rms = torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + float(shape["eps"]))
        out[piece] = wide * inverse_rms * wide_weight * (gate * torch.sigmoid(gate))
    return {"out": out}
