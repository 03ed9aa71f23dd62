# SPDX-License-Identifier: Apache-2.0
"""8-bit floats carried as uint8 codes, exact on every PyTorch from 1.13 on, with or without an fp8
type.

Formats (OCP 8-bit floating point specification 1.0 for e4m3fn; the "fnuz" variant is the one of
gfx942's matrix units, described in arXiv 2206.02915):
  f8_e4m3fn    exponent bias 7, largest value 448, NaN = 0x7F and 0xFF, no infinity
  f8_e4m3fnuz  exponent bias 8, largest value 240, NaN = 0x80, no infinity, no negative zero
Guarantees: decode() is exact; encode() rounds to nearest, ties to even, and saturates at the
largest value; encode(decode(c)) == c for every code that is not NaN.
"""

import torch

_BIAS = {"f8_e4m3fn": 7, "f8_e4m3fnuz": 8}
_TORCH_NAME = {"f8_e4m3fn": "float8_e4m3fn", "f8_e4m3fnuz": "float8_e4m3fnuz"}
MAX_VALUE = {"f8_e4m3fn": 448.0, "f8_e4m3fnuz": 240.0}


def _value(code, dtype):
    if dtype == "f8_e4m3fnuz" and code == 0x80:
        return float("nan")
    if dtype == "f8_e4m3fn" and code & 0x7F == 0x7F:
        return float("nan")
    exponent, mantissa = (code >> 3) & 0xF, code & 7
    bias = _BIAS[dtype]
    size = (
        mantissa * 2.0 ** (-2 - bias)
        if exponent == 0
        else (8 + mantissa) * 2.0 ** (exponent - bias - 3)
    )
    return -size if code & 0x80 else size


_TABLES = {
    dtype: torch.tensor([_value(code, dtype) for code in range(256)], dtype=torch.float32)
    for dtype in _BIAS
}
_tables_on_device = {}


def _table(dtype, device):
    key = (dtype, str(device))
    if key not in _tables_on_device:
        _tables_on_device[key] = _TABLES[dtype].to(device)
    return _tables_on_device[key]


def codes(tensor):
    """The uint8 codes of a tensor that may carry a native fp8 type."""
    return tensor if tensor.dtype == torch.uint8 else tensor.view(torch.uint8)


def decode(tensor, dtype="f8_e4m3fn"):
    """float32 values of fp8 codes."""
    raw = codes(tensor)
    if hasattr(torch, _TORCH_NAME[dtype]):
        return raw.view(getattr(torch, _TORCH_NAME[dtype])).to(torch.float32)
    return _table(dtype, raw.device)[raw.to(torch.int64)]


def _cast(x, dtype, finite):
    """encode() by PyTorch's own type: one pass where the arithmetic below takes fifteen, which is
    what drawing gigabytes of weights consists of."""
    largest = MAX_VALUE[dtype]
    code = x.clamp(-largest, largest).to(getattr(torch, _TORCH_NAME[dtype])).view(torch.uint8)
    if finite and dtype == "f8_e4m3fn":
        return code
    if dtype == "f8_e4m3fnuz":
        code = code.masked_fill(code == 0x80, 0)  # nothing negative rounds to NaN
        return code.masked_fill(torch.isnan(x), 0x80)
    return code.masked_fill(torch.isnan(x), 0x7F)


def encode(values, dtype="f8_e4m3fn", finite=False):
    """uint8 codes of float values: nearest, ties to even, saturating; NaN stays NaN. `finite`: who
    calls knows that there is none, which saves two passes."""
    x = values.to(torch.float32)
    if hasattr(torch, _TORCH_NAME[dtype]):
        return _cast(x, dtype, finite)
    bias, largest = _BIAS[dtype], MAX_VALUE[dtype]
    size = x.abs().clamp(max=largest)
    # Normal numbers: keep three of float32's 23 mantissa bits, rounding half to even on the bits.
    bits = size.view(torch.int32)
    rounded = (bits + 0x7FFFF + ((bits >> 20) & 1)) >> 20
    normal = rounded - ((127 - bias) << 3)
    # Below the smallest normal number the grid is uniform, and torch.round ties to even.
    subnormal = torch.round(size * 2.0 ** (bias + 2)).to(torch.int32)
    code = torch.where(size < 2.0 ** (1 - bias), subnormal, normal)
    negative = torch.signbit(x)
    if dtype == "f8_e4m3fnuz":
        negative = negative & (code != 0)
    code = code + negative.to(torch.int32) * 0x80
    not_a_number = 0x80 if dtype == "f8_e4m3fnuz" else 0x7F
    code = torch.where(torch.isnan(x), torch.full_like(code, not_a_number), code)
    return code.to(torch.uint8)
