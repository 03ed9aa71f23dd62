# SPDX-License-Identifier: Apache-2.0
"""RMSNorm computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

EXTRA_SHAPES = ({"tokens": 3, "hidden": 8192}, {"tokens": 16, "hidden": 5120})


def _wide(x, weight):
    return x.float(), weight.float()


def _inverse_rms(wide, eps):
    return torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)


def _out(tensor):
    return {"out": tensor.to(torch.bfloat16)}


def _in_float64(shape, x, weight):
    wide = x.double()
    return _out(
        wide / torch.sqrt(wide.pow(2).mean(-1, keepdim=True) + shape["eps"]) * weight.double()
    )


def _rounded_before_weight(shape, x, weight):
    wide, _ = _wide(x, weight)
    return _out((wide * _inverse_rms(wide, shape["eps"])).to(torch.bfloat16) * weight)


def _summed_in_pieces(shape, x, weight):
    wide, w = _wide(x, weight)
    total = sum(piece.pow(2).sum(-1, keepdim=True) for piece in wide.split(96, dim=-1))
    return _out(wide * torch.rsqrt(total / wide.shape[-1] + shape["eps"]) * w)


def _summed_one_by_one(shape, x, weight):
    wide, w = _wide(x, weight)
    total = wide.flip(-1).pow(2).cumsum(-1)[:, -1:]
    return _out(wide * (1.0 / torch.sqrt(total / wide.shape[-1] + shape["eps"])) * w)


def _weight_first(shape, x, weight):
    wide, w = _wide(x, weight)
    return _out(wide * w * _inverse_rms(wide, shape["eps"]))


HONEST = {
    "float64": _in_float64,
    "rounded before the weight": _rounded_before_weight,
    "summed in pieces": _summed_in_pieces,
    "summed one by one, backwards": _summed_one_by_one,
    "weight first": _weight_first,
}


def _sampled(shape, x, weight, columns):
    wide, w = _wide(x, weight)
    return _out(wide * _inverse_rms(wide[:, columns], shape["eps"]) * w)


def _wrong_tail(shape, x, weight):
    out = _in_float64(shape, x, weight)["out"]
    out[:, -(shape["hidden"] % 8 or 8) :] = 0
    return {"out": out}


def _last_row_missing(shape, x, weight):
    out = _in_float64(shape, x, weight)["out"]
    out[-1] = 0
    return {"out": out}


def _summed_in_bf16(shape, x, weight):
    # In bf16 a sum stops growing once an addend is under half a unit of its last place.
    wide, w = _wide(x, weight)
    total = torch.zeros_like(x[:, 0])
    for squares in (x * x).t().contiguous():
        total = total + squares
    return _out(wide * torch.rsqrt(total.float()[:, None] / x.shape[1] + shape["eps"]) * w)


def _layer_norm(shape, x, weight):
    wide, w = _wide(x, weight)
    centred = wide - wide.mean(-1, keepdim=True)
    return _out(centred * _inverse_rms(centred, shape["eps"]) * w)


def _l2(shape, x, weight):
    wide, w = _wide(x, weight)
    return _out(wide * torch.rsqrt(wide.pow(2).sum(-1, keepdim=True) + shape["eps"]) * w)


# Name: (how, regimes in which each shape must be refused).
WRONG = {
    "zeros": (lambda shape, x, weight: _out(x * 0), ("typical", "heavy_tail", "offset")),
    "a constant": (
        lambda shape, x, weight: _out(torch.ones_like(x)),
        ("typical", "heavy_tail", "offset"),
    ),
    "a copy": (lambda shape, x, weight: _out(x.clone()), ("typical", "heavy_tail", "offset")),
    "weight dropped": (
        lambda shape, x, weight: _out(x.float() * _inverse_rms(x.float(), shape["eps"])),
        ("typical", "heavy_tail", "offset"),
    ),
    "weight one column off": (
        lambda shape, x, weight: _in_float64(shape, x, weight.roll(1)),
        ("typical", "heavy_tail", "offset"),
    ),
    "weight plus one": (
        lambda shape, x, weight: _in_float64(shape, x, weight.double() + 1),
        ("typical", "heavy_tail", "offset"),
    ),
    "rms of one": (
        lambda shape, x, weight: _out(x.float() * weight.float()),
        ("typical", "heavy_tail", "offset"),
    ),
    "rms of the first half": (
        lambda shape, x, weight: _sampled(shape, x, weight, slice(0, shape["hidden"] // 2)),
        ("typical", "heavy_tail"),
    ),
    "rms of a quarter, strided": (
        lambda shape, x, weight: _sampled(shape, x, weight, slice(0, None, 4)),
        ("heavy_tail",),
    ),
    "rms of one row for all": (
        lambda shape, x, weight: (
            None
            if len(x) == 1
            else _out(x.float() * _inverse_rms(x[:1].float(), shape["eps"]) * weight.float())
        ),
        ("typical", "heavy_tail"),
    ),
    "layer norm": (_layer_norm, ("offset",)),
    "no mean": (_l2, ("typical", "heavy_tail", "offset")),
    "no eps": (lambda shape, x, weight: _in_float64({"eps": 0.0}, x, weight), ("offset",)),
    "eps added to the rms": (
        lambda shape, x, weight: _out(
            x.double()
            / (x.double().pow(2).mean(-1, keepdim=True).sqrt() + shape["eps"])
            * weight.double()
        ),
        ("offset",),
    ),
    "wrong tail": (_wrong_tail, ("typical", "heavy_tail", "offset")),
    "last row missing": (_last_row_missing, ("typical", "heavy_tail", "offset")),
    "summed in bf16": (
        lambda shape, x, weight: (
            _summed_in_bf16(shape, x, weight) if shape["hidden"] >= 1000 else None
        ),
        ("typical", "offset"),
    ),
}
