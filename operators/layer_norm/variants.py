# SPDX-License-Identifier: Apache-2.0
"""Layer normalisation computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import mistakes, rows

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _moments(x):
    mean = x.mean(-1, keepdim=True)
    return mean, (x - mean).pow(2).mean(-1, keepdim=True)


def _inverse(variance, eps):
    return 1.0 / torch.sqrt(variance + eps)


def _affine(normed, weight, bias):
    return normed * weight + bias


def _norm(
    moments=_moments,
    inverse=_inverse,
    affine=_affine,
    change=lambda x, weight, bias: (x, weight, bias),
    dtype=torch.float32,
):
    """The operator with its moments, its deviation, its affine map, its operands or its precision
    replaced."""

    def compute(shape, x, weight, bias):
        x, weight, bias = (t.to(dtype) for t in change(x, weight, bias))
        found = moments(x)
        if found is None:
            return None
        normed = (x - found[0]) * inverse(found[1], shape["eps"])
        return {"out": affine(normed, weight, bias).to(torch.bfloat16)}

    return rows.by_rows(compute, "x")


def _one_pass(x):
    mean = x.mean(-1, keepdim=True)
    return mean, x.pow(2).mean(-1, keepdim=True) - mean * mean


def _by_pieces(x, size=96):
    """Moments of pieces, merged as a tree of blocks would."""
    parts = x.split(size, dim=-1)
    sizes = torch.tensor([float(part.shape[-1]) for part in parts], device=x.device, dtype=x.dtype)
    means = torch.cat([part.mean(-1, keepdim=True) for part in parts], dim=-1)
    own = torch.cat([part.var(-1, unbiased=False, keepdim=True) for part in parts], dim=-1)
    mean = (means * sizes).sum(-1, keepdim=True) / x.shape[-1]
    return mean, ((own + (means - mean) ** 2) * sizes).sum(-1, keepdim=True) / x.shape[-1]


def _rounded(normed, weight, bias):
    return normed.to(torch.bfloat16).float() * weight + bias


def _product_rounded(normed, weight, bias):
    return (normed * weight).to(torch.bfloat16).float() + bias


_exact = _norm(dtype=torch.float64)
HONEST = {
    "float64": _exact,
    "one pass": _norm(_one_pass),
    "moments of pieces, merged": _norm(_by_pieces),
    "rounded before weight and bias": _norm(affine=_rounded),
    "rounded before the bias": _norm(affine=_product_rounded),
}


def _zero_mean(x):
    return torch.zeros_like(x[:, :1]), x.pow(2).mean(-1, keepdim=True)


def _only_uncentred(x):
    return torch.zeros_like(x[:, :1]), _moments(x)[1]


def _mean_only(x):
    return _moments(x)[0], torch.ones_like(x[:, :1])


def _first_half(x):
    return _moments(x[:, : x.shape[1] // 2])


def _of_one_row(x):
    return _moments(x[:1]) if len(x) > 1 else None


def _in_bf16(x):
    if x.shape[-1] < 2000:
        return None
    mean = mistakes.summed_in_bf16(x) / x.shape[-1]
    return mean, mistakes.summed_in_bf16((x - mean).pow(2)) / x.shape[-1]


WRONG = {
    **mistakes.common(_exact),
    "a copy": (lambda shape, x, **_: {"out": x.clone()}, _ALL),
    "bias for all": (
        lambda shape, x, weight, bias: {"out": bias.expand_as(x).contiguous()},
        _ALL,
    ),
    "rms norm": (_norm(_zero_mean), _ALL),
    "mean not subtracted": (_norm(_only_uncentred), _ALL),
    "variance of one": (_norm(_mean_only), _ALL),
    "uncentred variance": (
        _norm(lambda x: (x.mean(-1, keepdim=True), x.pow(2).mean(-1, keepdim=True))),
        _ALL,
    ),
    "moments of the first half": (_norm(_first_half), ("typical", "heavy_tail")),
    "moments of one row for all": (_norm(_of_one_row), ("typical", "heavy_tail")),
    "weight dropped": (_norm(change=lambda x, w, b: (x, torch.ones_like(w), b)), _ALL),
    "weight one column off": (_norm(change=lambda x, w, b: (x, w.roll(1), b)), _ALL),
    "weight plus one": (_norm(change=lambda x, w, b: (x, w.double() + 1, b)), _ALL),
    "bias dropped": (_norm(change=lambda x, w, b: (x, w, b * 0)), _ALL),
    "bias one column off": (_norm(change=lambda x, w, b: (x, w, b.roll(1))), _ALL),
    "bias scaled by the weight": (_norm(affine=lambda n, w, b: (n + b) * w), ("typical",)),
    "weight and bias swapped": (_norm(change=lambda x, w, b: (x, b, w)), _ALL),
    "no eps": (_norm(inverse=lambda variance, eps: _inverse(variance, 0.0)), ("offset",)),
    "eps added to the deviation": (
        _norm(inverse=lambda variance, eps: 1.0 / (variance.sqrt() + eps)),
        ("offset",),
    ),
    "sums in bf16": (_norm(_in_bf16), ("typical", "offset")),
}
