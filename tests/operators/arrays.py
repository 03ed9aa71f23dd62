# SPDX-License-Identifier: Apache-2.0
"""What the NumPy implementations share: values of tensors in float64, and of fp8 codes from the
formats' definitions.
"""

import math

import numpy

# The value of one unit of the exponent field's bias, the NaN codes, by format (OCP 8-bit floating
# point specification 1.0; the fnuz variants: arXiv 2206.02915).
_BIAS = {"f8_e4m3fn": 7, "f8_e4m3fnuz": 8}


def _value(code, dtype):
    sign, exponent, mantissa = -1.0 if code & 0x80 else 1.0, code >> 3 & 15, code & 7
    if code == 0x80 if dtype == "f8_e4m3fnuz" else (exponent == 15 and mantissa == 7):
        return math.nan
    if exponent == 0:
        return sign * mantissa / 8 * 2.0 ** (1 - _BIAS[dtype])
    return sign * (1 + mantissa / 8) * 2.0 ** (exponent - _BIAS[dtype])


FP8_VALUES = {
    dtype: numpy.array([_value(code, dtype) for code in range(256)]) for dtype in _BIAS
}


def wide(tensor):
    """float64 of a float tensor; whole numbers stay what they are."""
    return tensor.double().numpy() if tensor.is_floating_point() else tensor.numpy()
