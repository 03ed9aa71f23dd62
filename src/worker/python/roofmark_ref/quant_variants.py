# SPDX-License-Identifier: Apache-2.0
"""Ways to quantise rows that a checker must accept, and ways that it must refuse; shared by the
quantisation of whole rows and of groups.

Each is a function (x float32 [rows, columns], shape) -> (codes, scale [rows, 1]), or None where it
does not apply.
"""

import torch

from roofmark_ref import fp8, quant, rows


def _scale(x, shape):
    return quant.scales_of(x, shape["fp8_max"], shape["min_scale"])


def _encode(values, shape):
    largest = shape["fp8_max"]
    return fp8.encode(values.float().clamp(-largest, largest), quant.format_of(shape))


def _times_inverse(x, shape):
    scale = _scale(x, shape)
    return _encode(x * (1.0 / scale), shape), scale


def _times_quotient(x, shape):
    largest = x.abs().amax(1, keepdim=True)
    scale = (largest * (1.0 / shape["fp8_max"])).clamp(min=shape["min_scale"])
    return _encode(x * (shape["fp8_max"] / largest.clamp(min=1e-30)), shape), scale


def exact(x, shape):
    wide = x.double()
    scale = (wide.abs().amax(1, keepdim=True) / shape["fp8_max"]).clamp(min=shape["min_scale"])
    return _encode(wide / scale, shape), scale.float()


def _inverse_one_unit_off(x, shape):
    """As an approximate reciprocal gives it."""
    scale = _scale(x, shape)
    return _encode(x * ((1.0 / scale) * (1.0 + 2.0**-23)), shape), scale


HONEST = {
    "float64": exact,
    "times the inverse scale": _times_inverse,
    "times fp8_max over the largest": _times_quotient,
    "inverse one unit off": _inverse_one_unit_off,
}


def _with_scale(change):
    """Codes and scale that agree with each other, from another scale."""

    def compute(x, shape):
        scale = change(x, _scale(x, shape), shape)
        return None if scale is None else (_encode(x / scale, shape), scale)

    return compute


def _with_codes(change):
    """The right scale, other codes."""

    def compute(x, shape):
        scale = _scale(x, shape)
        codes = change(x / scale, shape)
        return None if codes is None else (codes, scale)

    return compute


def _several(scale, value):
    return value if len(scale) > 1 else None


def _toward_zero(values, shape):
    """One code down wherever the nearest one is larger than the value."""
    codes = _encode(values, shape)
    over = fp8.decode(codes, quant.format_of(shape)).abs() > values.abs()
    return codes - over.to(torch.uint8)


def _other_format(values, shape):
    other = "f8_e4m3fn" if quant.format_of(shape) == "f8_e4m3fnuz" else "f8_e4m3fnuz"
    return fp8.encode(values.clamp(-240.0, 240.0), other)


def _subnormals_flushed(values, shape):
    codes = _encode(values, shape)
    return torch.where((codes & 0x78) == 0, torch.zeros_like(codes), codes)


def _four_bits_of_exponent_and_two(values, shape):
    codes = _encode(values, shape)
    return codes & 0xFE


def _scale_inverted(x, shape):
    codes, scale = exact(x, shape)
    return codes, 1.0 / scale


def _scale_in_bf16(x, shape):
    codes, scale = exact(x, shape)
    return codes, scale.to(torch.bfloat16).float()


def _codes_of_scale_in_bf16(x, shape):
    scale = _scale(x, shape)
    if len(x) < 4:  # a row's scale may happen to be a bf16 number, nearly
        return None
    return _encode(x / scale.to(torch.bfloat16).float(), shape), scale


def _constant(x, shape):
    """The scale that a normalised row usually has."""
    return torch.full_like(x[:, :1], 4.5 / shape["fp8_max"])


def _constant_scale(x, shape):
    scale = _constant(x, shape)
    return _encode(x / scale, shape), scale


def _scale_stated_constant(x, shape):
    return exact(x, shape)[0], _constant(x, shape)


_ALL = rows.REGIMES
WRONG = {
    "a constant scale": (_constant_scale, _ALL),
    "a constant in place of the scale": (_scale_stated_constant, _ALL),
    "scale of one": (_with_scale(lambda x, s, shape: torch.ones_like(s)), _ALL),
    "one scale for all": (
        _with_scale(lambda x, s, shape: _several(s, s.amax(0, keepdim=True).expand_as(s))),
        ("typical", "heavy_tail"),
    ),
    "scale of the neighbouring row": (
        _with_scale(lambda x, s, shape: _several(s, s.roll(1, 0))),
        ("typical", "heavy_tail"),
    ),
    "largest without the sign": (
        _with_scale(lambda x, s, shape: (x.amax(1, keepdim=True) / shape["fp8_max"]).clamp(1e-6)),
        ("heavy_tail",),
    ),
    "mean in place of the largest": (
        _with_scale(lambda x, s, shape: x.abs().mean(1, keepdim=True) / shape["fp8_max"]),
        _ALL,
    ),
    "scale of the largest itself": (_with_scale(lambda x, s, shape: s * shape["fp8_max"]), _ALL),
    "half the range": (_with_scale(lambda x, s, shape: s * 2.0), _ALL),
    "the range of the other format": (
        _with_scale(
            lambda x, s, shape: s * shape["fp8_max"] / (240.0 if shape["fp8_max"] > 300 else 448.0)
        ),
        _ALL,
    ),
    "scale inverted": (_scale_inverted, _ALL),
    "scale not applied": (_with_codes(lambda v, shape: torch.full_like(v, 56).byte()), _ALL),
    "codes of the other format": (_with_codes(_other_format), _ALL),
    "rounded toward zero": (_with_codes(_toward_zero), _ALL),
    "last bit dropped": (_with_codes(_four_bits_of_exponent_and_two), _ALL),
    "subnormals flushed": (_with_codes(_subnormals_flushed), ("heavy_tail",)),
    "signs lost": (_with_codes(lambda v, shape: _encode(v.abs(), shape)), ("typical",)),
    "scale rounded to bf16": (_scale_in_bf16, _ALL),
    "codes of a scale in bf16": (_codes_of_scale_in_bf16, _ALL),
}
