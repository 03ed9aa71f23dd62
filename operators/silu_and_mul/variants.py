# SPDX-License-Identifier: Apache-2.0
"""SiLU-and-multiply computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch
import torch.nn.functional as F

EXTRA_SHAPES = ({"rows": 3, "width": 14336},)
_ALL = ("typical", "heavy_tail", "offset")


def _halves(shape, x):
    return x[:, : shape["width"]], x[:, shape["width"] :]


def _out(tensor):
    return {"out": tensor.to(torch.bfloat16)}


def _in_float64(shape, x):
    gate, value = (half.double() for half in _halves(shape, x))
    return _out(gate / (1 + torch.exp(-gate)) * value)


def _by_tanh(shape, x):
    gate, value = (half.float() for half in _halves(shape, x))
    half = 0.5 * gate
    return _out((half * torch.tanh(half) + half) * value)


def _gate_rounded(shape, x):
    gate, value = _halves(shape, x)
    return _out(F.silu(gate.float()).to(torch.bfloat16) * value)


HONEST = {
    "float64": _in_float64,
    "by tanh": _by_tanh,
    "gate rounded before the product": _gate_rounded,
}


def _with(activation):
    def compute(shape, x):
        gate, value = (half.float() for half in _halves(shape, x))
        return _out(activation(gate) * value)

    return compute


def _interleaved(shape, x):
    return _out(F.silu(x[:, 0::2].float()) * x[:, 1::2].float()) if shape["width"] > 1 else None


def _wrong_tail(shape, x):
    out = _in_float64(shape, x)["out"]
    out[:, -(shape["width"] % 8 or 8) :] = 0
    return {"out": out}


def _last_row_missing(shape, x):
    out = _in_float64(shape, x)["out"]
    out[-1] = 0
    return {"out": out}


def _value_of_the_row_above(shape, x):
    gate, value = (half.float() for half in _halves(shape, x))
    return _out(F.silu(gate) * value.roll(1, 0)) if len(x) > 1 else None


WRONG = {
    "zeros": (lambda shape, x: _out(torch.zeros_like(_halves(shape, x)[0])), _ALL),
    "a constant": (lambda shape, x: _out(torch.full_like(_halves(shape, x)[0], 0.1)), _ALL),
    "a copy of the gate": (lambda shape, x: _out(_halves(shape, x)[0].clone()), _ALL),
    "value dropped": (lambda shape, x: _out(F.silu(_halves(shape, x)[0].float())), _ALL),
    "halves swapped": (
        lambda shape, x: _out(F.silu(_halves(shape, x)[1].float()) * _halves(shape, x)[0].float()),
        _ALL,
    ),
    "halves interleaved": (_interleaved, _ALL),
    "relu": (_with(F.relu), _ALL),
    "gelu": (_with(F.gelu), _ALL),
    "sigmoid": (_with(torch.sigmoid), _ALL),
    "no activation": (_with(lambda gate: gate), _ALL),
    "quick gelu": (_with(lambda gate: gate * torch.sigmoid(1.702 * gate)), _ALL),
    "hard silu": (_with(F.hardswish), _ALL),
    "exponential that overflows": (
        _with(lambda gate: gate * (torch.exp(gate) / (1 + torch.exp(gate)))),
        ("heavy_tail",),
    ),
    "wrong tail": (_wrong_tail, _ALL),
    "last row missing": (_last_row_missing, _ALL),
    "value of the row above": (_value_of_the_row_above, _ALL),
}
