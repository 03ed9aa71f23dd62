# SPDX-License-Identifier: Apache-2.0
"""Dynamic fp8 quantisation of rows, and inputs whose codes do not depend on how it is rounded.

scale = max(largest |x| / fp8_max, min_scale), code = nearest fp8 of x / scale, saturated at
fp8_max. Production kernels multiply by 1 / scale or by fp8_max / largest instead. In float32 these
agree except where x / scale lies exactly between two codes, which happens when x * fp8_max and the
largest |x| share factors: up to 6 % of a row whose largest element is a power of two. `decisive`
gives the largest element a prime significand that no other size in the row has, so that no such
tie exists and every careful kernel gives the same codes.
"""

import torch

from roofmark_ref import fp8, rows

_FORMATS = {448.0: "f8_e4m3fn", 240.0: "f8_e4m3fnuz", 224.0: "f8_e4m3fnuz"}


def format_of(shape):
    """The fp8 format that goes with the attribute fp8_max (fnuz is also used up to 224 only)."""
    return _FORMATS[float(shape["fp8_max"])]


def _is_prime(number):
    return all(number % divisor for divisor in range(2, int(number**0.5) + 1))


def _steps_to_prime():
    """How many bf16 values above each significand 128 .. 255 the next prime one is; 251 is the last
    below the next power of two, after which 131 * 2 follows."""
    targets = [number for number in range(128, 256) if _is_prime(number)] + [256 + 3]
    steps = [min(t for t in targets if t >= s) - s for s in range(128, 256)]
    return torch.tensor(steps, dtype=torch.int16)


_STEPS = _steps_to_prime()
_steps_by_device = {}


def _steps_on(device):
    if device not in _steps_by_device:
        _steps_by_device[device] = _STEPS.to(device)
    return _steps_by_device[device]


def decisive(x):
    """x [rows, columns], bf16, with the largest element of each row moved up to a prime
    significand, and others of that significand (ties among subnormal codes) one down."""
    bits = x.view(torch.int16)
    sign, size = bits & -0x8000, bits & 0x7FFF
    top, at = size.max(dim=1, keepdim=True)
    top = top + _steps_on(x.device)[(top & 0x7F).to(torch.int64)]
    size -= ((size & 0x7F) == (top & 0x7F)).to(torch.int16)
    size.scatter_(1, at, top)
    return sign.bitwise_or_(size).view(torch.bfloat16)


def scales_of(wide, fp8_max, min_scale):
    """The scale of each row [rows, 1] of a float32 tensor."""
    return (wide.abs().amax(dim=1, keepdim=True) / fp8_max).clamp(min=min_scale)


def codes_of(wide, scale, shape):
    """uint8 codes of wide / scale."""
    largest = float(shape["fp8_max"])
    return fp8.encode((wide / scale).clamp(-largest, largest), format_of(shape))


def quantise(x, shape):
    """Codes [rows, columns] and scales [rows, 1] of a bf16 tensor, a bounded piece at a time."""
    codes = torch.empty(x.shape, dtype=torch.uint8, device=x.device)
    scales = torch.empty((x.shape[0], 1), dtype=torch.float32, device=x.device)
    for piece in rows.pieces(*x.shape):
        wide = x[piece].to(torch.float32)
        scales[piece] = scales_of(wide, float(shape["fp8_max"]), float(shape["min_scale"]))
        codes[piece] = codes_of(wide, scales[piece], shape)
    return codes, scales
