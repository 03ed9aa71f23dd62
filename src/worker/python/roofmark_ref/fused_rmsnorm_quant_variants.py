# SPDX-License-Identifier: Apache-2.0
"""Norm and quantisation in one pass, computed in ways that a checker must accept, and in ways that
it must refuse."""

import torch

from roofmark_ref import mistakes, quant, quant_variants, rows
from roofmark_ref.norm_routes import inverse_rms, layer_norm, summed_in_pieces

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _sum(x, residual):
    return (x.float() + residual.float()).to(torch.bfloat16)


def _scaled(x, factor, weight):
    return x * factor * weight


def _fused(
    inverse=inverse_rms,
    total=_sum,
    product=_scaled,
    quantise=quant_variants.HONEST["times the inverse scale"],
    dtype=torch.float32,
    after=lambda got, normed, x, residual: got,
):
    """The operator with its sum, its rms, its products, its quantisation, its precision or its
    outputs replaced."""

    def compute(shape, x, residual, weight):
        wide = total(x, residual).to(dtype)
        normed = product(wide, inverse(wide, shape["eps"]), weight.to(dtype))
        done = quantise(normed.float(), shape)
        if done is None:
            return None
        got = {"quantized": done[0], "scale": done[1], "residual_out": _sum(x, residual)}
        return after(got, normed, x, residual)

    return rows.by_rows(compute, "x", "residual")


def _rounded_once(x, factor, weight):
    return (x * factor * weight).to(torch.bfloat16)


def _rounded_twice(x, factor, weight):
    return (x * factor).to(torch.bfloat16) * weight.to(torch.bfloat16)


def _unrounded(x, residual):
    return x.float() + residual.float()


_exact = _fused(dtype=torch.float64, quantise=quant_variants.exact)
HONEST = {
    "float64": _exact,
    "norm rounded, as released": _fused(
        product=_rounded_once, quantise=quant_variants.HONEST["float64"]
    ),
    "norm rounded, times the inverse scale": _fused(product=_rounded_once),
    "norm rounded before and after the weight": _fused(product=_rounded_twice),
    "norm of the unrounded sum": _fused(total=_unrounded),
    "norm of the unrounded sum, rounded": _fused(total=_unrounded, product=_rounded_once),
    "summed in pieces": _fused(summed_in_pieces(96)),
}


def _with_weight(change):
    def compute(shape, x, residual, weight):
        return _exact(shape, x=x, residual=residual, weight=change(weight))

    return compute


def _with(**changes):
    """The right answer with some outputs replaced."""

    def after(got, normed, x, residual):
        return {**got, **{name: make(got, x, residual) for name, make in changes.items()}}

    return _fused(after=after)


def _largest_of_the_first_half(x, shape):
    if len(x) < 16:  # of few rows it may be the largest of all
        return None
    scale = quant.scales_of(x[:, : x.shape[1] // 2], shape["fp8_max"], shape["min_scale"])
    return quant.codes_of(x, scale, shape), scale


def _one_row_for_all(shape, x, residual, weight):
    if len(x) == 1:
        return None
    return _fused(lambda wide, eps: inverse_rms(wide[:1], eps))(
        shape, x=x, residual=residual, weight=weight
    )


def _summed_in_bf16(shape, x, residual, weight):
    if shape["hidden"] < 2000:
        return None

    def inverse(wide, eps):
        return torch.rsqrt(mistakes.summed_in_bf16(wide.pow(2)) / wide.shape[-1] + eps)

    return _fused(inverse)(shape, x=x, residual=residual, weight=weight)


# What no bound here can refuse, since rounding the norm to bf16 does as much.
_BELOW_ROUNDING = ("scale rounded to bf16", "codes of a scale in bf16")
# What a row of one common size does not have.
_OWN_ROWS = ("largest without the sign", "subnormals flushed", "signs lost")
_QUANTISED = {
    name: (_fused(quantise=how), regimes)
    for name, (how, regimes) in quant_variants.WRONG.items()
    if name not in _BELOW_ROUNDING + _OWN_ROWS
}
WRONG = {
    **mistakes.common(_exact),
    **_QUANTISED,
    "x dropped": (_fused(total=lambda x, residual: x * 0 + residual), _ALL),
    "residual dropped": (_fused(total=lambda x, residual: x + residual * 0), _ALL),
    "subtracted": (_fused(total=lambda x, residual: x.float() - residual.float()), _ALL),
    "residual not updated": (_with(residual_out=lambda got, x, residual: residual), _ALL),
    "x as the residual": (_with(residual_out=lambda got, x, residual: x), _ALL),
    "the sum quantised, no norm": (_fused(product=lambda x, factor, weight: x), _ALL),
    "signs lost": (_fused(quantise=lambda x, shape: quant_variants.exact(x.abs(), shape)), _ALL),
    "largest of the first half": (
        _fused(quantise=_largest_of_the_first_half),
        ("typical", "offset"),
    ),
    "weight dropped": (_with_weight(torch.ones_like), _ALL),
    "weight one column off": (_with_weight(lambda weight: weight.roll(1)), _ALL),
    "weight plus one": (_with_weight(lambda weight: weight.double() + 1), _ALL),
    "rms of one": (_fused(lambda x, eps: torch.ones_like(x[:, :1])), _ALL),
    "rms of the first half": (
        _fused(lambda x, eps: inverse_rms(x[:, : x.shape[1] // 2], eps)),
        ("typical", "heavy_tail"),
    ),
    "rms of one row for all": (_one_row_for_all, ("typical", "heavy_tail")),
    "layer norm": (_fused(product=layer_norm), ("offset",)),
    "no mean": (_fused(lambda x, eps: torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)), _ALL),
    "no eps": (_fused(lambda x, eps: inverse_rms(x, 0.0)), ("offset",)),
    "eps added to the rms": (
        _fused(lambda x, eps: 1.0 / (x.pow(2).mean(-1, keepdim=True).sqrt() + eps)),
        ("offset",),
    ),
    "summed in bf16": (_summed_in_bf16, ("typical", "offset")),
}
