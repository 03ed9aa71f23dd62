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


def _parts(shape, a, b, dtype=torch.float64):
    """Each group's partial sums [groups, m, n], unscaled."""
    wide_a, wide_b = fp8.decode(a).to(dtype), fp8.decode(b).to(dtype)
    group = shape["group"]
    return torch.stack([x @ y.t() for x, y in zip(wide_a.split(group, 1), wide_b.split(group, 1))])


def _scales(shape, a_scales, b_scales):
    """The product of scales for each group, row and column [groups, m, n]."""
    bands = torch.arange(shape["n"]) // shape["group"]
    return a_scales.t()[:, :, None] * b_scales[bands].t()[:, None, :]


def _c(tensor):
    return {"c": tensor.to(torch.float32)}


def _in_float64(shape, a, b, a_scales, b_scales):
    return _c((_parts(shape, a, b) * _scales(shape, a_scales.double(), b_scales.double())).sum(0))


def _group_by_group(shape, a, b, a_scales, b_scales):
    total = torch.zeros(shape["m"], shape["n"])
    for part, scale in zip(_parts(shape, a, b, torch.float32), _scales(shape, a_scales, b_scales)):
        total += part * scale
    return _c(total)


def _split_in_three(shape, a, b, a_scales, b_scales):
    scaled = _parts(shape, a, b, torch.float32) * _scales(shape, a_scales, b_scales)
    return _c(sum(part.sum(0) for part in scaled.flip(0).chunk(3)))


def _few_bits_within_a_group(shape, a, b, a_scales, b_scales):
    # Hopper's fp8 units keep about 13 bits below the largest product until a sum is promoted, once
    # a group.
    parts = _parts(shape, a, b, torch.float32)
    tops = [
        torch.stack([piece.abs().amax(1) for piece in fp8.decode(codes).split(shape["group"], 1)])
        for codes in (a, b)
    ]
    quantum = (tops[0][:, :, None] * tops[1][:, None, :]).clamp(min=1e-9) * 2.0**-13
    return _c(((parts / quantum).trunc() * quantum * _scales(shape, a_scales, b_scales)).sum(0))


def _dequantised_to_bf16(shape, a, b, a_scales, b_scales):
    columns = torch.arange(shape["k"]) // shape["group"]
    bands = torch.arange(shape["n"]) // shape["group"]
    wide_a = (fp8.decode(a) * a_scales[:, columns]).to(torch.bfloat16)
    wide_b = (fp8.decode(b) * b_scales[bands][:, columns]).to(torch.bfloat16)
    return wide_a.float() @ wide_b.float().t()


HONEST = {
    "float64": _in_float64,
    "group by group": _group_by_group,
    "k split in three": _split_in_three,
    "few bits within a group": _few_bits_within_a_group,
    "rounded to bf16 at the end": lambda shape, **t: _c(
        _in_float64(shape, **t)["c"].to(torch.bfloat16)
    ),
    "dequantised to bf16": lambda shape, **t: _c(_dequantised_to_bf16(shape, **t)),
    "dequantised to bf16, result too": lambda shape, **t: _c(
        _dequantised_to_bf16(shape, **t).to(torch.bfloat16)
    ),
}


def _changed(**changes):
    """The right product of changed operands; a change that returns None does not apply."""

    def compute(shape, **tensors):
        for name, change in changes.items():
            tensors[name] = change(shape, tensors[name])
            if tensors[name] is None:
                return None
        return _in_float64(shape, **tensors)

    return compute


def _transposed(shape, scales):
    return scales.t().contiguous() if scales.shape[0] == scales.shape[1] > 1 else None


def _shifted(shape, scales):
    return scales.roll(1, 1) if scales.shape[1] > 1 else None


def _next_band(shape, scales):
    return scales.roll(1, 0) if scales.shape[0] > 1 else None


def _first_of_all_groups(shape, scales):
    return scales[:, :1].expand(-1, scales.shape[1]) if scales.shape[1] > 1 else None


def _without_last_group(shape, codes):
    short = codes.clone()
    short[:, (shape["k"] - 1) // shape["group"] * shape["group"] :] = 0
    return short if shape["k"] > shape["group"] else None


def _first_half_doubled(shape, a, b, a_scales, b_scales):
    if a_scales.shape[1] < 4:
        return None
    scaled = _parts(shape, a, b) * _scales(shape, a_scales, b_scales)
    half = len(scaled) // 2
    return _c(scaled[:half].sum(0) * (len(scaled) / half))


def _summed_in_bf16(shape, a, b, a_scales, b_scales):
    """The running sum kept in bf16, a step of 32 of k (one matrix instruction) at a time; long k
    only."""
    if shape["k"] < 4096:
        return None
    columns = torch.arange(shape["k"]) // shape["group"]
    bands = torch.arange(shape["n"]) // shape["group"]
    wide_a = fp8.decode(a) * a_scales[:, columns]
    wide_b = fp8.decode(b) * b_scales[bands][:, columns]
    total = torch.zeros(shape["m"], shape["n"], dtype=torch.bfloat16)
    for x, y in zip(wide_a.split(32, 1), wide_b.split(32, 1)):
        total = (total.float() + x @ y.t()).to(torch.bfloat16)
    return _c(total)


def _last_column_missing(shape, **tensors):
    c = _in_float64(shape, **tensors)["c"]
    c[:, -1] = 0
    return {"c": c}


def _last_row_missing(shape, **tensors):
    c = _in_float64(shape, **tensors)["c"]
    c[-1] = 0
    return {"c": c}


def _as_other_format(shape, codes):
    # Read as fnuz every value halves; and 0x80, minus zero, turns into NaN, which this keeps at
    # zero.
    return fp8.encode(torch.nan_to_num(fp8.decode(codes, "f8_e4m3fnuz")))


def _without_subnormals(shape, codes):
    return torch.where((codes & 0x78) == 0, codes & 0x80, codes)


WRONG = {
    "zeros": (lambda shape, a, b, **_: _c(torch.zeros(shape["m"], shape["n"])), _ALL),
    "a constant": (lambda shape, a, b, **_: _c(torch.ones(shape["m"], shape["n"])), _ALL),
    "scales of a ignored": (_changed(a_scales=lambda shape, s: torch.ones_like(s)), _ALL),
    "scales of b ignored": (_changed(b_scales=lambda shape, s: torch.ones_like(s)), _ALL),
    "scales of b transposed": (_changed(b_scales=_transposed), _ALL),
    "scales of a one group off": (_changed(a_scales=_shifted), _ALL),
    "scales of b one band off": (_changed(b_scales=_next_band), _ALL),
    "scales of the first group for all": (
        _changed(a_scales=_first_of_all_groups),
        ("typical", "heavy_tail"),
    ),
    "last group missing": (_changed(a=_without_last_group), ("typical", "heavy_tail")),
    "first half of k, doubled": (_first_half_doubled, _ALL),
    "summed in bf16": (_summed_in_bf16, ("typical", "offset")),
    "last column missing": (_last_column_missing, _ALL),
    "last row missing": (_last_row_missing, _ALL),
    "signs ignored": (_changed(a=lambda shape, codes: codes & 0x7F), ("typical", "heavy_tail")),
    "read as fnuz": (_changed(a=_as_other_format), _ALL),
    "subnormals flushed": (_changed(a=_without_subnormals, b=_without_subnormals), ("heavy_tail",)),
}
