# SPDX-License-Identifier: Apache-2.0
"""The dense product computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import fp8, mistakes, rows

# Long in k; and square, so that a transposed weight has a shape to hide in.
EXTRA_SHAPES = ({"m": 4, "n": 64, "k": 4096}, {"m": 6, "n": 96, "k": 96})
_ALL = rows.REGIMES


def _plain(x, w):
    return x @ w.t()


def _product(compute=_plain, change=lambda x, w: (x, w), dtype=torch.float32):
    """The operator with its sum, its operands or its precision replaced."""

    def run(shape, x, w):
        changed = change(x, w)
        if changed is None:
            return None
        out = compute(*(operand.to(dtype) for operand in changed))
        return None if out is None else {"out": out.to(torch.bfloat16)}

    return rows.by_rows(run, "x")


def _parts(x, w, count):
    step = -(-x.shape[1] // count)
    return [a @ b.t() for a, b in zip(x.split(step, 1), w.split(step, 1))]


def _four_parts_in_bf16(x, w):
    return sum(part.to(torch.bfloat16).float() for part in _parts(x, w, 4))


def _backwards(x, w):
    return x.flip(1) @ w.flip(1).t()


_exact = _product(dtype=torch.float64)
HONEST = {
    "float64": _exact,
    "float32": _product(),
    "backwards": _product(_backwards),
    "k split in three": _product(lambda x, w: sum(_parts(x, w, 3))),
    "k split in four, parts in bf16": _product(_four_parts_in_bf16),
}


def _summed_in_bf16(x, w):
    """The running sum in bf16, 16 of k (one matrix instruction) at a time; long k only."""
    if x.shape[1] < 2048:
        return None
    total = torch.zeros((x.shape[0], w.shape[0]), dtype=torch.bfloat16, device=x.device)
    for a, b in zip(x.split(16, 1), w.split(16, 1)):
        total = (total.float() + a @ b.t()).to(torch.bfloat16)
    return total


def _in_fp8(tensor):
    top = tensor.abs().amax(1, keepdim=True)
    return fp8.decode(fp8.encode(tensor * (448.0 / top))) * (top / 448.0)


def _first(share):
    """The first share of k, scaled up to stand for all of it."""

    def compute(x, w):
        kept = int(x.shape[1] * share)
        return x[:, :kept] @ w[:, :kept].t() / share

    return compute


def _without_tail(x, w):
    kept = x.shape[1] - (x.shape[1] % 16 or 16)
    return x[:, :kept] @ w[:, :kept].t()


def _every_other(x, w):
    return 2.0 * (x[:, ::2] @ w[:, ::2].t())


def _transposed(x, w):
    return (x, w.t()) if w.shape[0] == w.shape[1] else None


def _first_column_for_all(x, w):
    return _plain(x, w)[:, :1].expand(-1, w.shape[0])


def _copy(shape, x, w):
    columns = torch.arange(w.shape[0], device=x.device) % x.shape[1]
    return {"out": x[:, columns].contiguous()}


WRONG = {
    **mistakes.common(_exact),
    "a copy": (_copy, _ALL),
    "row sums of x": (
        _product(lambda x, w: x.sum(1, keepdim=True).expand(-1, w.shape[0])),
        _ALL,
    ),
    "first column for all": (_product(_first_column_for_all), _ALL),
    "w one row off": (_product(change=lambda x, w: (x, w.roll(1, 0))), _ALL),
    "w one column off": (_product(change=lambda x, w: (x, w.roll(1, 1))), _ALL),
    "w transposed": (_product(change=_transposed), _ALL),
    "signs of w lost": (_product(change=lambda x, w: (x, w.abs())), _ALL),
    "first half of k, doubled": (_product(_first(0.5)), ("typical", "offset")),
    "every other of k, doubled": (_product(_every_other), ("typical",)),
    "tail of k missing": (_product(_without_tail), ("typical", "offset")),
    "halved": (_product(lambda x, w: 0.5 * _plain(x, w)), _ALL),
    "operands in fp8": (_product(lambda x, w: _in_fp8(x) @ _in_fp8(w).t()), _ALL),
    "w in fp8": (_product(lambda x, w: x @ _in_fp8(w).t()), _ALL),
    "summed in bf16": (_product(_summed_in_bf16), ("typical", "offset")),
}
