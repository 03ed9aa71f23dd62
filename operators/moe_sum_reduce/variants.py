# SPDX-License-Identifier: Apache-2.0
"""The sum over expert outputs computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

EXTRA_SHAPES = ()
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 26  # elements of the input that are widened at a time


def _by_rows(compute):
    """compute(part [rows, top_k, hidden]) -> [rows, hidden], on a bounded number of rows at a
    time."""

    def whole(shape, expert_outputs):
        step = max(1, _CHUNK // (shape["top_k"] * shape["hidden"]))
        parts = [compute(part).to(torch.bfloat16) for part in expert_outputs.split(step)]
        return {"out": torch.cat(parts)}

    return whole


def _one_by_one(part, dtype=torch.float32):
    total = torch.zeros(part.shape[0], part.shape[2], dtype=dtype, device=part.device)
    for choice in range(part.shape[1]):
        total = total + part[:, choice].to(dtype)
    return total


def _in_pairs(part):
    wide = list(part.float().unbind(1))
    while len(wide) > 1:
        wide = [sum(wide[at : at + 2]) for at in range(0, len(wide), 2)]
    return wide[0]


def _as_product(part):
    ones = torch.ones(1, 1, part.shape[1], device=part.device)
    return (ones.expand(len(part), -1, -1) @ part.float())[:, 0]


HONEST = {
    "float64": _by_rows(lambda part: part.double().sum(1)),
    "one by one": _by_rows(_one_by_one),
    "backwards": _by_rows(lambda part: _one_by_one(part.flip(1))),
    "in pairs": _by_rows(_in_pairs),
    "as a product with ones": _by_rows(_as_product),
}


def _in_bf16(shape, expert_outputs):
    # A sum of two is rounded once either way, and one of three nearly so.
    if shape["top_k"] < 5:
        return None
    return _by_rows(lambda part: _one_by_one(part, torch.bfloat16))(shape, expert_outputs)


def _first_half_doubled(shape, expert_outputs):
    half = shape["top_k"] // 2
    scale = shape["top_k"] / half
    return _by_rows(lambda part: part[:, :half].double().sum(1) * scale)(shape, expert_outputs)


def _choices_first(shape, expert_outputs):
    """Read as [top_k, tokens, hidden]."""
    if shape["tokens"] == 1:
        return None
    other = expert_outputs.view(shape["top_k"], shape["tokens"], -1).transpose(0, 1)
    return _by_rows(lambda part: part.double().sum(1))(shape, other)


def _missing(**where):
    def compute(shape, expert_outputs):
        out = HONEST["float64"](shape, expert_outputs)["out"]
        if "row" in where:
            out[-1] = 0
        else:
            out[:, -(shape["hidden"] % 8 or 8) :] = 0
        return {"out": out}

    return compute


def _previous_token(shape, expert_outputs):
    return HONEST["float64"](shape, expert_outputs.roll(1, 0)) if shape["tokens"] > 1 else None


WRONG = {
    "zeros": (lambda shape, expert_outputs: {"out": expert_outputs[:, 0] * 0}, _ALL),
    "a constant": (
        lambda shape, expert_outputs: {"out": torch.ones_like(expert_outputs[:, 0])},
        _ALL,
    ),
    "a copy of the first choice": (
        lambda shape, expert_outputs: {"out": expert_outputs[:, 0].clone()},
        _ALL,
    ),
    "the input itself": (
        lambda shape, expert_outputs: {
            "out": expert_outputs.view(-1, shape["hidden"])[: shape["tokens"]]
        },
        _ALL,
    ),
    "mean": (_by_rows(lambda part: part.double().mean(1)), _ALL),
    "largest": (_by_rows(lambda part: part.amax(1)), _ALL),
    "sizes": (_by_rows(lambda part: part.double().abs().sum(1)), ("typical", "heavy_tail")),
    "last choice missing": (_by_rows(lambda part: part[:, :-1].double().sum(1)), _ALL),
    "first choice missing": (_by_rows(lambda part: part[:, 1:].double().sum(1)), _ALL),
    "first half, doubled": (_first_half_doubled, _ALL),
    "read choices first": (_choices_first, _ALL),
    "previous token": (_previous_token, _ALL),
    "summed in bf16": (_in_bf16, _ALL),
    "last row missing": (_missing(row=True), _ALL),
    "wrong tail": (_missing(tail=True), _ALL),
}
