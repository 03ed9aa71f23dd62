# SPDX-License-Identifier: Apache-2.0
"""L2 normalisation computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

from roofmark_ref import mistakes, rows

EXTRA_SHAPES = ()
_ALL = rows.REGIMES


def _inverse(x, eps):
    return 1.0 / torch.sqrt(x.pow(2).sum(-1, keepdim=True) + eps)


def _norm(inverse=_inverse, dtype=torch.float32, after=lambda out: out):
    """The operator with its norm or its precision replaced."""

    def compute(shape, x):
        wide = x.to(dtype)
        factor = inverse(wide, shape["eps"])
        return None if factor is None else {"out": after(wide * factor).to(torch.bfloat16)}

    return rows.by_rows(compute, "x")


def _in_pieces(x, eps):
    return torch.rsqrt(sum(p.pow(2).sum(-1, keepdim=True) for p in x.split(24, dim=-1)) + eps)


def _backwards(x, eps):
    return torch.rsqrt(x.flip(-1).pow(2).cumsum(-1)[:, -1:] + eps)


_exact = _norm(dtype=torch.float64)
HONEST = {
    "float64": _exact,
    "summed in pieces": _norm(_in_pieces),
    "summed one by one, backwards": _norm(_backwards),
    "norm rounded to bf16": _norm(
        lambda x, eps: 1.0 / (1.0 / _inverse(x, eps)).to(torch.bfloat16).float()
    ),
}


def _constant_size(x, eps):
    """x over the square root of hidden: no reduction."""
    return torch.full_like(x[:, :1], x.shape[-1] ** -0.5)


def _first_row(x, eps):
    return _inverse(x[:1], eps) if len(x) > 1 else None


def _summed_in_bf16(x, eps):
    if x.shape[-1] < 2000:
        return None
    return torch.rsqrt(mistakes.summed_in_bf16(x.pow(2), step=2) + eps)


def _half(x, eps):
    return _inverse(x[:, : x.shape[1] // 2], eps)


WRONG = {
    **mistakes.common(_exact),
    "a copy": (lambda shape, x: {"out": x.clone()}, _ALL),
    "over the root of hidden": (_norm(_constant_size), _ALL),
    "the rms": (_norm(lambda x, eps: torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)), _ALL),
    "the L1 norm": (_norm(lambda x, eps: 1.0 / (x.abs().sum(-1, keepdim=True) + eps)), _ALL),
    "the largest": (_norm(lambda x, eps: 1.0 / (x.abs().amax(-1, keepdim=True) + eps)), _ALL),
    "the square": (_norm(lambda x, eps: _inverse(x, eps) ** 2), _ALL),
    "norm of the first half": (_norm(_half), ("typical", "heavy_tail")),
    "norm of one row for all": (_norm(_first_row), ("typical", "heavy_tail")),
    "no eps": (_norm(lambda x, eps: _inverse(x, 0.0), torch.float64), ("offset",)),
    "eps added to the norm": (
        _norm(lambda x, eps: 1.0 / (x.pow(2).sum(-1, keepdim=True).sqrt() + eps)),
        ("offset",),
    ),
    "eps as a floor": (
        _norm(lambda x, eps: x.pow(2).sum(-1, keepdim=True).clamp(min=eps).rsqrt()),
        ("offset",),
    ),
    "summed in bf16": (_norm(_summed_in_bf16), ("offset",)),
}
