# SPDX-License-Identifier: Apache-2.0
"""Mistakes as changes of a right answer: those that any operator on rows can make, which every
checker must refuse under every regime, and what others are made of."""

import torch

from roofmark_ref.rows import REGIMES

_TAIL = 8


def _edited(exact, edit):
    def compute(shape, **tensors):
        outputs = exact(shape, **tensors)
        return None if edit(outputs) is False else outputs

    return compute


def _fill(value, code):
    def edit(outputs):
        for tensor in outputs.values():
            tensor.fill_(value if tensor.is_floating_point() else code)

    return edit


def _last_row_missing(outputs):
    for tensor in outputs.values():
        tensor[-1] = 0


def _wrong_tail(outputs):
    for tensor in outputs.values():
        if tensor.dim() > 1:
            tensor[..., -(tensor.shape[-1] % _TAIL or _TAIL) :] = 0


def _first_row_for_all(outputs):
    for tensor in outputs.values():
        if tensor.shape[0] == 1:
            return False
        tensor[1:] = tensor[:1].clone()
    return True


def _second_half_missing(outputs):
    for tensor in outputs.values():
        if tensor.shape[0] == 1:
            return False
        tensor[(tensor.shape[0] + 1) // 2 :] = 0
    return True


def _one_row_down(outputs):
    for name, tensor in outputs.items():
        if tensor.shape[0] == 1:
            return False
        outputs[name] = tensor.roll(1, 0)
    return True


def common(exact):
    """{name: (compute, regimes)}; fp8 codes are filled with the code of one."""
    edits = {
        "zeros": _fill(0.0, 0),
        "a constant": _fill(1.0, 0x38),
        "last row missing": _last_row_missing,
        "wrong tail": _wrong_tail,
        "first row for all": _first_row_for_all,
        "second half of the rows missing": _second_half_missing,
        "one row down": _one_row_down,
    }
    return {name: (_edited(exact, edit), REGIMES) for name, edit in edits.items()}


def zeroed(tensor, *where):
    """A copy with zeros at tensor[where]."""
    tensor = tensor.clone()
    tensor[where] = 0
    return tensor


def replaced(**values):
    """A change of finished outputs: each named one becomes value(shape, given, got)."""

    def finish(shape, given, got):
        return {**got, **{name: value(shape, given, got) for name, value in values.items()}}

    return finish


def summed_in_bf16(values, step=4):
    """The sum of each row [..., 1], float32, of a running sum in bf16 that takes `step` addends at
    a time: it stops growing once they are under half a unit of its last place."""
    total = torch.zeros_like(values[..., 0], dtype=torch.bfloat16)
    for part in values.float().split(step, dim=-1):
        total = total + part.sum(-1).to(torch.bfloat16)
    return total.float()[..., None]
