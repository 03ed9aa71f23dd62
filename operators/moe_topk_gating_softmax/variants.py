# SPDX-License-Identifier: Apache-2.0
"""Softmax routing computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

EXTRA_SHAPES = ()
_ALL = ("typical", "heavy_tail", "offset")


def _answer(weights, ids):
    return {
        "topk_weights": weights.to(torch.float32).contiguous(),
        "topk_ids": ids.to(torch.int32).contiguous(),
    }


def _pick(shape, probabilities):
    """The largest of a row, and where they are."""
    return _answer(*probabilities.topk(shape["top_k"], dim=1))


def _right(shape, x):
    return _pick(shape, torch.softmax(x.double(), dim=1))


def _one_by_one(shape, gating_output):
    """Finds the largest, strikes it out and looks again, as production kernels do."""
    left = torch.softmax(gating_output, dim=1)
    weights, ids = [], []
    for _ in range(shape["top_k"]):
        weight, at = left.max(dim=1, keepdim=True)
        weights.append(weight)
        ids.append(at)
        left = left.scatter(1, at, -1.0)
    return _answer(torch.cat(weights, 1), torch.cat(ids, 1))


def _by_logsumexp(shape, gating_output):
    values, ids = gating_output.topk(shape["top_k"], dim=1)
    return _answer(torch.exp(values - torch.logsumexp(gating_output, 1, keepdim=True)), ids)


def _by_exp2(shape, gating_output):
    scaled = (gating_output - gating_output.amax(1, keepdim=True)) * 1.4426950408889634
    power = torch.pow(2.0, scaled)
    return _pick(shape, power * (1.0 / power.sum(1, keepdim=True)))


def _online(shape, gating_output):
    """Maximum and sum of pieces, joined at the end."""
    pieces = gating_output.split(32, dim=1)
    tops = torch.cat([piece.amax(1, keepdim=True) for piece in pieces], 1)
    sums = [torch.exp(p - p.amax(1, keepdim=True)).sum(1, keepdim=True) for p in pieces]
    sums, top = torch.cat(sums, 1), tops.amax(1, keepdim=True)
    total = (sums * torch.exp(tops - top)).sum(1, keepdim=True)
    values, ids = gating_output.topk(shape["top_k"], dim=1)
    return _answer(torch.exp(values - top) / total, ids)


HONEST = {
    "float64": lambda shape, gating_output: _right(shape, gating_output),
    "one by one": _one_by_one,
    "by logsumexp": _by_logsumexp,
    "by powers of two": _by_exp2,
    "pieces of 32": _online,
}


def _weights_changed(change):
    def compute(shape, gating_output):
        right = _right(shape, gating_output)
        return _answer(change(right["topk_weights"]), right["topk_ids"])

    return compute


def _counted(shape, ids):
    return torch.arange(ids.shape[1], device=ids.device).expand_as(ids)


def _ids_changed(change):
    def compute(shape, gating_output):
        right = _right(shape, gating_output)
        return _answer(right["topk_weights"], change(shape, right["topk_ids"]))

    return compute


def _of_changed(change):
    def compute(shape, gating_output):
        changed = change(shape, gating_output)
        return None if changed is None else _right(shape, changed)

    return compute


def _without_last(shape, x):
    x = x.clone()
    x[:, -1] = -1e30
    return x


def _prefix(shape, x):
    """Half of the experts, where all choices of some row lie elsewhere too."""
    half = x.shape[1] // 2
    return x[:, :half] if half >= shape["top_k"] else None


def _no_maximum(shape, gating_output):
    power = torch.exp(gating_output)
    return _pick(shape, power / power.sum(1, keepdim=True))


def _last_row_missing(shape, gating_output):
    right = _right(shape, gating_output)
    for tensor in right.values():
        tensor[-1] = 0
    return right


def _last_choice_missing(shape, gating_output):
    right = _right(shape, gating_output)
    for tensor in right.values():
        tensor[:, -1] = 0
    return right


def _zeros(shape, gating_output):
    none = torch.zeros(shape["tokens"], shape["top_k"], device=gating_output.device)
    return _answer(none, none)


def _first_experts(shape, gating_output):
    """The first logits and their numbers: a copy of the input."""
    k = shape["top_k"]
    ids = torch.arange(k, device=gating_output.device).expand(shape["tokens"], k)
    return _answer(gating_output[:, :k], ids)


def _smallest(shape, gating_output):
    p = torch.softmax(gating_output.double(), dim=1)
    return _answer(*p.topk(shape["top_k"], dim=1, largest=False))


def _sigmoid(shape, gating_output):
    values, ids = gating_output.topk(shape["top_k"], dim=1)
    return _answer(torch.sigmoid(values), ids)


def _previous_row(shape, x):
    return x.roll(1, 0) if shape["tokens"] > 1 else None


def _first_row_for_all(shape, x):
    return x[:1].expand_as(x) if shape["tokens"] > 1 else None


WRONG = {
    "zeros": (_zeros, _ALL),
    "the first experts": (_first_experts, _ALL),
    "weights of one": (_weights_changed(torch.ones_like), _ALL),
    "weights all alike": (
        _weights_changed(lambda w: torch.full_like(w, 1.0 / w.shape[1])),
        _ALL,
    ),
    "weights divided by their sum": (
        _weights_changed(lambda w: w / w.sum(1, keepdim=True)),
        ("typical", "offset"),
    ),
    "weights in bf16": (_weights_changed(lambda w: w.to(torch.bfloat16)), ("typical", "offset")),
    "weights in f16": (_weights_changed(lambda w: w.to(torch.float16)), ("typical", "offset")),
    "sigmoid": (_sigmoid, _ALL),
    "logits for weights": (
        lambda shape, gating_output: _answer(*gating_output.topk(shape["top_k"], dim=1)),
        _ALL,
    ),
    "logits in bf16": (
        _of_changed(lambda shape, x: x.to(torch.bfloat16)),
        ("typical", "offset"),
    ),
    "no maximum": (_no_maximum, ("offset",)),
    "ascending": (
        lambda shape, gating_output: {
            name: tensor.flip(1) for name, tensor in _right(shape, gating_output).items()
        },
        _ALL,
    ),
    "smallest": (_smallest, _ALL),
    "ids one off": (_ids_changed(lambda shape, ids: ids + 1), _ALL),
    "ids ignored": (_ids_changed(_counted), _ALL),
    "largest k times": (_ids_changed(lambda shape, ids: ids[:, :1].expand_as(ids)), _ALL),
    "last expert missing": (_of_changed(_without_last), _ALL),
    "first half of the experts": (_of_changed(_prefix), _ALL),
    "previous row": (_of_changed(_previous_row), _ALL),
    "first row for all": (_of_changed(_first_row_for_all), _ALL),
    "last row missing": (_last_row_missing, _ALL),
    "last choice missing": (_last_choice_missing, _ALL),
}
