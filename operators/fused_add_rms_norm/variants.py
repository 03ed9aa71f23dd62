# SPDX-License-Identifier: Apache-2.0
"""Residual addition and RMSNorm computed in ways that a checker must accept, and in ways that it
must refuse."""

import torch

from roofmark_ref import mistakes, rows
from roofmark_ref.norm_routes import inverse_rms, layer_norm, summed_in_pieces

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _sum(x, residual):
    return (x.float() + residual.float()).to(torch.bfloat16)


def _norm(
    inverse=inverse_rms,
    total=_sum,
    product=lambda x, factor, weight: x * factor * weight,
    dtype=torch.float32,
    after=lambda out, x, residual: (out, _sum(x, residual)),
):
    """The operator with its sum, its rms, its products, its precision or its outputs replaced."""

    def compute(shape, x, residual, weight):
        wide = total(x, residual).to(dtype)
        out = product(wide, inverse(wide, shape["eps"]), weight.to(dtype)).to(torch.bfloat16)
        out, residual_out = after(out, x, residual)
        return {"out": out.contiguous(), "residual_out": residual_out.to(torch.bfloat16)}

    return rows.by_rows(compute, "x", "residual")


def _rounded_before_weight(x, factor, weight):
    return (x * factor).to(torch.bfloat16) * weight.to(torch.bfloat16)


def _unrounded(x, residual):
    return x.float() + residual.float()


_exact = _norm(dtype=torch.float64)

HONEST = {
    "float64": _exact,
    "rounded before the weight": _norm(product=_rounded_before_weight),
    "norm of the unrounded sum": _norm(total=_unrounded),
    "summed in pieces": _norm(summed_in_pieces(96)),
    "summed one by one, backwards": _norm(
        lambda x, eps: torch.rsqrt(x.flip(-1).pow(2).cumsum(-1)[:, -1:] / x.shape[-1] + eps)
    ),
    "added in bf16": _norm(total=lambda x, residual: x + residual),
}


def _with_weight(change):
    def compute(shape, x, residual, weight):
        return _exact(shape, x=x, residual=residual, weight=change(weight))

    return compute


def _in_bf16(x, eps):
    return torch.rsqrt(mistakes.summed_in_bf16(x.pow(2)) / x.shape[-1] + eps)


def _summed_in_bf16(shape, x, residual, weight):
    if shape["hidden"] < 2000:
        return None
    return _norm(_in_bf16)(shape, x=x, residual=residual, weight=weight)


def _one_row_for_all(shape, x, residual, weight):
    if len(x) == 1:
        return None
    return _norm(lambda wide, eps: inverse_rms(wide[:1], eps))(
        shape, x=x, residual=residual, weight=weight
    )


WRONG = {
    **mistakes.common(_exact),
    "copies": (lambda shape, x, residual, weight: {"out": x, "residual_out": residual}, _ALL),
    "x dropped": (_norm(total=lambda x, residual: residual), _ALL),
    "residual dropped": (_norm(total=lambda x, residual: x), _ALL),
    "subtracted": (_norm(total=lambda x, residual: x.float() - residual.float()), _ALL),
    "added after the norm": (
        _norm(total=lambda x, r: x, after=lambda out, x, r: (out + r, _sum(x, r))),
        _ALL,
    ),
    "residual not updated": (_norm(after=lambda out, x, residual: (out, residual)), _ALL),
    "the norm as the residual": (_norm(after=lambda out, x, residual: (out, out)), _ALL),
    "weight dropped": (_with_weight(torch.ones_like), _ALL),
    "weight one column off": (_with_weight(lambda weight: weight.roll(1)), _ALL),
    "weight plus one": (_with_weight(lambda weight: weight.double() + 1), _ALL),
    "rms of one": (_norm(lambda x, eps: torch.ones_like(x[:, :1])), _ALL),
    "rms of the first half": (
        _norm(lambda x, eps: inverse_rms(x[:, : x.shape[1] // 2], eps)),
        ("typical", "heavy_tail"),
    ),
    "rms of one row for all": (_one_row_for_all, ("typical", "heavy_tail")),
    "layer norm": (_norm(product=layer_norm), ("offset",)),
    "no mean": (_norm(lambda x, eps: torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)), _ALL),
    "no eps": (_norm(lambda x, eps: inverse_rms(x, 0.0), dtype=torch.float64), ("offset",)),
    "eps added to the rms": (
        _norm(lambda x, eps: 1.0 / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)),
        ("offset",),
    ),
    "summed in bf16": (_summed_in_bf16, ("typical", "offset")),
}
