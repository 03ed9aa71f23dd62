# SPDX-License-Identifier: Apache-2.0
"""The top-k filter computed in ways that a checker must accept, and in ways that it must refuse."""

import torch

EXTRA_SHAPES = ({"rows": 1, "vocab": 6000, "top_k": 50},)
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 25  # elements handled at a time


def _by_rows(compute):
    """Runs compute(shape, rows) over pieces of the rows, since sorts take several times their
    size."""

    def run(shape, logits):
        pieces = []
        for part in logits.split(max(1, _CHUNK // shape["vocab"])):
            pieces.append(compute(shape, part))
            if pieces[-1] is None:
                return None
        return {"out": torch.cat(pieces)}

    return run


def _keep(logits, threshold, other=float("-inf")):
    return logits.masked_fill(~(logits >= threshold), other)


def _threshold(logits, count):
    return logits.topk(min(count, logits.shape[1]), dim=1).values[:, -1:]


def _by_scatter(shape, logits):
    values, places = logits.topk(shape["top_k"], dim=1, sorted=False)
    return torch.full_like(logits, float("-inf")).scatter_(1, places, values)


def _by_sort(shape, logits):
    ordered = logits.sort(dim=1).values
    return _keep(logits, ordered[:, -shape["top_k"]].unsqueeze(1))


def _by_two_sorts(shape, logits):
    rank = logits.argsort(dim=1, descending=True).argsort(dim=1)
    return logits.masked_fill(rank >= shape["top_k"], float("-inf"))


def _ordered_bits(logits):
    """int64 keys that are ordered as the floats are."""
    bits = logits.view(torch.int32).to(torch.int64)
    return torch.where(bits < 0, -(1 << 31) - bits, bits)


def _by_bisection(shape, logits):
    """As radix selection does: the largest key that top_k entries reach, bit by bit."""
    keys = _ordered_bits(logits)
    low = torch.full((len(logits), 1), -(1 << 31), dtype=torch.int64, device=logits.device)
    for bit in range(31, -1, -1):
        higher = low + (1 << bit)
        enough = (keys >= higher).sum(1, keepdim=True) >= shape["top_k"]
        low = torch.where(enough, higher, low)
    return logits.masked_fill(keys < low, float("-inf"))


def _by_pieces(shape, logits):
    """The candidates of each piece of the row, then the top of those."""
    count = shape["top_k"]
    found = [
        part.topk(min(count, part.shape[1]), dim=1).values for part in logits.split(1024, dim=1)
    ]
    return _keep(logits, _threshold(torch.cat(found, 1), count))


HONEST = {
    "top-k and scatter": _by_rows(_by_scatter),
    "a sort": _by_rows(_by_sort),
    "ranks": _by_rows(_by_two_sorts),
    "bisection over the bits": _by_rows(_by_bisection),
    "piece by piece": _by_rows(_by_pieces),
    "float64": _by_rows(
        lambda shape, x: _keep(x.double(), _threshold(x.double(), shape["top_k"])).float()
    ),
}


def _count(change):
    """As if another number of logits were to stay."""

    def compute(shape, logits):
        count = change(shape["top_k"])
        if not 0 < count <= shape["vocab"]:
            return None
        return _keep(logits, _threshold(logits, count))

    return compute


def _rounded(dtype):
    """The threshold and the comparison in fewer bits."""

    def compute(shape, logits):
        coarse = logits.to(dtype).float()
        return logits.masked_fill(coarse < _threshold(coarse, shape["top_k"]), float("-inf"))

    return compute


def _sampled(columns):
    def compute(shape, logits):
        seen = logits[:, columns(shape["vocab"])]
        if seen.shape[1] < shape["top_k"]:
            return None
        return _keep(logits, _threshold(seen, shape["top_k"]))

    return compute


def _instead_of_infinity(value):
    return lambda shape, x: _keep(x, _threshold(x, shape["top_k"]), value)


def _changed(change):
    """A correct answer, spoilt."""

    def run(shape, logits):
        out = HONEST["top-k and scatter"](shape, logits)["out"]
        return {"out": change(shape, logits, out)}

    return run


def _tail(value):
    def change(shape, logits, out):
        columns = slice(-(shape["vocab"] % 4 + 4), None)
        out[:, columns] = logits[:, columns] if value is None else value
        return out

    return change


def _tail_let_through(shape, logits):
    # Where much of a row stays, so may all of its tail.
    if shape["vocab"] < 16 * shape["top_k"]:
        return None
    return _changed(_tail(None))(shape, logits)


def _last_row(value):
    def change(shape, logits, out):
        out[-1] = logits[-1] if value is None else value
        return out

    return change


def _largest_by_size(shape, logits):
    size = torch.where(logits < -1e29, torch.zeros_like(logits), logits.abs())
    return logits.masked_fill(size < _threshold(size, shape["top_k"]), float("-inf"))


def _first_row_for_all(shape, logits):
    if len(logits) == 1:
        return None
    return {"out": _keep(logits, _threshold(logits[:1], shape["top_k"]))}


def _by_probability(shape, logits):
    """As if the filter were of probabilities over a thousandth."""
    return logits.masked_fill(torch.softmax(logits, 1) < 1e-3, float("-inf"))


WRONG = {
    "zeros": (lambda shape, logits: {"out": torch.zeros_like(logits)}, _ALL),
    "a constant": (lambda shape, logits: {"out": torch.full_like(logits, -torch.inf)}, _ALL),
    "a copy": (lambda shape, logits: {"out": logits.clone()}, _ALL),
    "the logits themselves": (lambda shape, logits: {"out": logits}, _ALL),
    "one fewer": (_by_rows(_count(lambda count: count - 1)), _ALL),
    "one more": (_by_rows(_count(lambda count: count + 1)), _ALL),
    "half as many": (_by_rows(_count(lambda count: count // 2)), _ALL),
    "the largest only": (_by_rows(lambda shape, x: _keep(x, x.amax(1, keepdim=True))), _ALL),
    "the smallest": (
        _by_rows(lambda shape, x: _keep(-x, _threshold(-x, shape["top_k"])).neg()),
        _ALL,
    ),
    "the largest in size": (_by_rows(_largest_by_size), ("offset",)),
    "threshold in bf16": (_by_rows(_rounded(torch.bfloat16)), _ALL),
    "threshold in f16": (_by_rows(_rounded(torch.float16)), _ALL),
    "values rounded to bf16": (
        _changed(lambda shape, logits, out: out.to(torch.bfloat16).float()),
        _ALL,
    ),
    "threshold of the first half": (_by_rows(_sampled(lambda n: slice(n // 2))), _ALL),
    "threshold of every other": (_by_rows(_sampled(lambda n: slice(None, None, 2))), _ALL),
    "threshold of the first row": (_first_row_for_all, _ALL),
    "a fixed threshold": (_by_rows(lambda shape, x: _keep(x, 0.0)), _ALL),
    "three sigma": (
        _by_rows(lambda shape, x: _keep(x, x.mean(1, True) + 3.0 * x.std(1, keepdim=True))),
        _ALL,
    ),
    "by probability": (_by_rows(_by_probability), ("typical", "offset")),
    "a large number for infinity": (_by_rows(_instead_of_infinity(-3.0e38)), _ALL),
    "zero for infinity": (_by_rows(_instead_of_infinity(0.0)), _ALL),
    "log-probabilities": (
        _changed(lambda shape, logits, out: torch.log_softmax(out, dim=1)),
        _ALL,
    ),
    "less the maximum": (
        _changed(lambda shape, logits, out: out - out.amax(1, keepdim=True)),
        _ALL,
    ),
    "sorted": (
        _changed(lambda shape, logits, out: out.sort(dim=1, descending=True).values),
        _ALL,
    ),
    "one column off": (_changed(lambda shape, logits, out: out.roll(1, 1)), _ALL),
    "tail dropped": (_changed(_tail(float("-inf"))), _ALL),
    "tail let through": (_tail_let_through, _ALL),
    "last row missing": (_changed(_last_row(0.0)), _ALL),
    "last row let through": (_changed(_last_row(None)), _ALL),
}
