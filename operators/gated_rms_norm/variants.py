# SPDX-License-Identifier: Apache-2.0
"""RMSNorm times a SiLU gate, computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch
import torch.nn.functional as F

from roofmark_ref import mistakes, rows
from roofmark_ref.norm_routes import inverse_rms, layer_norm, summed_in_pieces

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _silu(gate):
    return gate / (1 + torch.exp(-gate))


def _gated(
    inverse=inverse_rms,
    gate=_silu,
    norm=lambda x, factor, weight: x * factor * weight,
    change=lambda x, weight, z: (x, weight, z),
    dtype=torch.float32,
):
    """The operator with its rms, its gate, its products, its operands or its precision replaced."""

    def compute(shape, x, weight, z):
        x, weight, z = (t.to(dtype) for t in change(x, weight, z))
        normed = norm(x, inverse(x, shape["eps"]), weight)
        return {"out": (normed.to(dtype) * gate(z).to(dtype)).to(torch.bfloat16)}

    return rows.by_rows(compute, "x", "z")


def _by_tanh(gate):
    half = 0.5 * gate
    return half * torch.tanh(half) + half


_exact = _gated(dtype=torch.float64)
HONEST = {
    "float64": _exact,
    "by tanh": _gated(gate=_by_tanh),
    "norm rounded before the gate": _gated(
        norm=lambda x, factor, weight: (x * factor * weight).to(torch.bfloat16)
    ),
    "gate rounded": _gated(gate=lambda z: F.silu(z).to(torch.bfloat16)),
    "summed in pieces": _gated(summed_in_pieces(24)),
}


def _gate_before_norm(shape, x, weight, z):
    if shape["rows"] == 1:  # one row's rms may hardly change by chance
        return None
    gated = x.float() * F.silu(z.float())
    return {"out": (gated * inverse_rms(gated, shape["eps"]) * weight.float()).to(torch.bfloat16)}


def _one_row_for_all(shape, x, weight, z):
    if len(x) == 1:
        return None
    return _gated(lambda wide, eps: inverse_rms(wide[:1], eps))(shape, x=x, weight=weight, z=z)


WRONG = {
    **mistakes.common(_exact),
    "a copy of x": (lambda shape, x, **_: {"out": x.clone()}, _ALL),
    "a copy of z": (lambda shape, z, **_: {"out": z.clone()}, _ALL),
    "weight dropped": (_gated(change=lambda x, w, z: (x, torch.ones_like(w), z)), _ALL),
    "weight one column off": (_gated(change=lambda x, w, z: (x, w.roll(1), z)), _ALL),
    "weight plus one": (_gated(change=lambda x, w, z: (x, w + 1, z)), _ALL),
    "gate dropped": (_gated(gate=torch.ones_like), _ALL),
    "gate before the norm": (rows.by_rows(_gate_before_norm, "x", "z"), _ALL),
    "x and z swapped": (_gated(change=lambda x, w, z: (z, w, x)), _ALL),
    "gate of the row above": (
        lambda shape, x, weight, z: (
            None if len(x) == 1 else _exact(shape, x=x, weight=weight, z=z.roll(1, 0))
        ),
        _ALL,
    ),
    "sigmoid": (_gated(gate=torch.sigmoid), _ALL),
    "relu": (_gated(gate=F.relu), _ALL),
    "gelu": (_gated(gate=F.gelu), _ALL),
    "no activation": (_gated(gate=lambda z: z), _ALL),
    "exponential that overflows": (
        _gated(gate=lambda z: z * (torch.exp(z) / (1 + torch.exp(z)))),
        ("heavy_tail",),
    ),
    "rms of one": (_gated(lambda x, eps: torch.ones_like(x[:, :1])), _ALL),
    "rms of the first half": (
        _gated(lambda x, eps: inverse_rms(x[:, : x.shape[1] // 2], eps)),
        ("typical", "heavy_tail"),
    ),
    "rms of one row for all": (_one_row_for_all, ("typical", "heavy_tail")),
    "layer norm": (_gated(norm=layer_norm), ("offset",)),
    "no mean": (_gated(lambda x, eps: torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)), _ALL),
    "no eps": (_gated(lambda x, eps: inverse_rms(x, 0.0)), ("offset",)),
    "eps added to the rms": (
        _gated(lambda x, eps: 1.0 / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)),
        ("offset",),
    ),
}
