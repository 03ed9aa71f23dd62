# SPDX-License-Identifier: Apache-2.0
"""The block-scaled fp8 product computed in ways that a checker must accept, and in ways that it
must refuse."""

import torch

from roofmark_ref import fp8

# Square in groups, so that transposed scales have a shape to hide in; and long in k.
EXTRA_SHAPES = (
    {"m": 9, "n": 512, "k": 512, "group": 128},
    {"m": 4, "n": 128, "k": 4096, "group": 128},
    {"m": 3, "n": 256, "k": 7168, "group": 128},
)
_ALL = ("typical", "heavy_tail", "offset")
_ELEMENTS = 1 << 25  # of a piece of rows, its operands or its sums


def _by_rows(sums):
    """The operator from what `sums` makes of some rows: [rows, n], or None where it does not
    apply."""

    def compute(shape, a, b, a_scales, b_scales):
        c = torch.empty((len(a), len(b)), dtype=torch.float32, device=a.device)
        step = max(1, _ELEMENTS // max(len(b), a.shape[1]))
        for rows, scales, out in zip(a.split(step), a_scales.split(step), c.split(step)):
            got = sums(shape, rows, b, scales, b_scales)
            if got is None:
                return None
            out.copy_(got)
        return {"c": c}

    return compute


def _parts(shape, a, b, a_scales, b_scales, dtype=torch.float32):
    """For each group its partial sums [rows, n], unscaled, and the product of their scales."""
    group = shape["group"]
    bands = torch.arange(len(b), device=b.device) // group
    for g, (x, y) in enumerate(zip(a.split(group, 1), b.split(group, 1))):
        scale = a_scales[:, g, None].to(dtype) * b_scales[bands, g].to(dtype)
        yield fp8.decode(x).to(dtype) @ fp8.decode(y).to(dtype).t(), scale


def _in_float64(shape, a, b, a_scales, b_scales):
    parts = _parts(shape, a, b, a_scales, b_scales, torch.float64)
    return sum(part * scale for part, scale in parts)


def _group_by_group(shape, *operands):
    return sum(part * scale for part, scale in _parts(shape, *operands))


def _split_in_three(shape, a, b, a_scales, b_scales):
    """A sum for each third of the groups."""
    totals = [torch.zeros((len(a), len(b)), device=a.device) for _ in range(3)]
    for g, (part, scale) in enumerate(_parts(shape, a, b, a_scales, b_scales)):
        totals[g * 3 // a_scales.shape[1]] += part * scale
    return totals[2] + totals[1] + totals[0]


def _few_bits_within_a_group(shape, a, b, a_scales, b_scales):
    # Hopper's fp8 units keep about 13 bits below the largest product until a sum is promoted, once
    # a group.
    group, total = shape["group"], 0.0
    pieces = zip(a.split(group, 1), b.split(group, 1))
    for (x, y), (part, scale) in zip(pieces, _parts(shape, a, b, a_scales, b_scales)):
        top = fp8.decode(x).abs().amax(1)[:, None] * fp8.decode(y).abs().amax(1)
        quantum = top.clamp(min=1e-9) * 2.0**-13
        total = total + (part / quantum).trunc() * quantum * scale
    return total


def _dequantised(shape, a, b, a_scales, b_scales):
    """Both operands times their scales, float32."""
    columns = torch.arange(a.shape[1], device=a.device) // shape["group"]
    bands = torch.arange(len(b), device=b.device) // shape["group"]
    return fp8.decode(a) * a_scales[:, columns], fp8.decode(b).mul_(b_scales[:, columns][bands])


def _product(shape, *operands):
    wide_a, wide_b = _dequantised(shape, *operands)
    return wide_a @ wide_b.t()


def _dequantised_to_bf16(shape, *operands):
    wide_a, wide_b = _dequantised(shape, *operands)
    return wide_a.to(torch.bfloat16).float() @ wide_b.to(torch.bfloat16).float().t()


def _rounded(sums):
    return lambda shape, *operands: sums(shape, *operands).to(torch.bfloat16)


HONEST = {
    "float64": _by_rows(_in_float64),
    "group by group": _by_rows(_group_by_group),
    "k split in three": _by_rows(_split_in_three),
    "few bits within a group": _by_rows(_few_bits_within_a_group),
    "rounded to bf16 at the end": _by_rows(_rounded(_in_float64)),
    "dequantised to bf16": _by_rows(_dequantised_to_bf16),
    "dequantised to bf16, result too": _by_rows(_rounded(_dequantised_to_bf16)),
}


def _changed(**changes):
    """The right product of changed operands; a change that returns None does not apply."""

    def compute(shape, **tensors):
        for name, change in changes.items():
            tensors[name] = change(shape, tensors[name])
            if tensors[name] is None:
                return None
        return _by_rows(_product)(shape, **tensors)

    return compute


def _transposed(shape, scales):
    # Of two by two, the pair that changes places may be alike by chance.
    return scales.t().contiguous() if scales.shape[0] == scales.shape[1] > 2 else None


def _shifted(shape, scales):
    return scales.roll(1, 1) if scales.shape[1] > 1 else None


def _next_band(shape, scales):
    return scales.roll(1, 0) if scales.shape[0] > 1 else None


def _first_of_all_groups(shape, scales):
    return scales[:, :1].expand(-1, scales.shape[1]) if scales.shape[1] > 1 else None


def _without_last_groups(shape, codes):
    """A quarter of the groups, at least one: the scales of a single one may be small by chance."""
    groups = -(-shape["k"] // shape["group"])
    kept = (groups - max(1, groups // 4)) * shape["group"]
    if kept == 0 or shape["k"] - kept < shape["group"]:
        return None
    short = codes.clone()
    short[:, kept:] = 0
    return short


def _first_half_doubled(shape, a, b, a_scales, b_scales):
    groups = a_scales.shape[1]
    if groups < 4:
        return None
    half = slice(0, groups // 2 * shape["group"])
    got = _product(shape, a[:, half], b[:, half], a_scales, b_scales)
    return got * (groups / (groups // 2))


def _summed_in_bf16(shape, *operands):
    """The running sum kept in bf16, a step of 32 of k (one matrix instruction) at a time; long k
    only."""
    if shape["k"] < 4096:
        return None
    wide_a, wide_b = _dequantised(shape, *operands)
    total = torch.zeros((len(wide_a), len(wide_b)), dtype=torch.bfloat16, device=wide_a.device)
    for x, y in zip(wide_a.split(32, 1), wide_b.split(32, 1)):
        total = torch.addmm(total.float(), x, y.t()).to(torch.bfloat16)
    return total


def _filled(value):
    def compute(shape, a, b, **_):
        size = (shape["m"], shape["n"])
        return {"c": torch.full(size, value, dtype=torch.float32, device=a.device)}

    return compute


def _missing(*where):
    """A right answer but for zeros in some places."""

    def compute(shape, **tensors):
        got = _by_rows(_product)(shape, **tensors)
        got["c"][where] = 0
        return got

    return compute


def _last_column_missing(shape, **tensors):
    # Few of its elements may all be small by chance.
    return _missing(..., -1)(shape, **tensors) if shape["m"] >= 64 else None


def _without_subnormals(shape, codes):
    return torch.where((codes & 0x78) == 0, codes & 0x80, codes)


WRONG = {
    "zeros": (_filled(0.0), _ALL),
    "a constant": (_filled(1.0), _ALL),
    "scales of a ignored": (_changed(a_scales=lambda shape, s: torch.ones_like(s)), _ALL),
    "scales of b ignored": (_changed(b_scales=lambda shape, s: torch.ones_like(s)), _ALL),
    "scales of b transposed": (_changed(b_scales=_transposed), _ALL),
    "scales of a one group off": (_changed(a_scales=_shifted), _ALL),
    "scales of b one band off": (_changed(b_scales=_next_band), _ALL),
    "scales of the first group for all": (
        _changed(a_scales=_first_of_all_groups),
        ("typical", "heavy_tail"),
    ),
    "last groups missing": (_changed(a=_without_last_groups), ("typical", "heavy_tail")),
    "first half of k, doubled": (_by_rows(_first_half_doubled), _ALL),
    "summed in bf16": (_by_rows(_summed_in_bf16), ("typical", "offset")),
    "last column missing": (_last_column_missing, ("typical", "offset")),
    "last columns missing": (_missing(..., slice(-32, None)), _ALL),
    "last row missing": (_missing(-1), _ALL),
    "signs ignored": (_changed(a=lambda shape, codes: codes & 0x7F), ("typical", "heavy_tail")),
    # Every value is half as large there, but for minus zero, which no sum sees.
    "read as fnuz": (_changed(a_scales=lambda shape, scales: scales * 0.5), _ALL),
    "subnormals flushed": (_changed(a=_without_subnormals, b=_without_subnormals), ("heavy_tail",)),
}
