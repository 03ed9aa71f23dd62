# SPDX-License-Identifier: Apache-2.0
"""Per-token quantisation to e4m3fn in NumPy: the formula does not know the format."""

from numpy_fp8_dynamic_per_token_quant import compute  # noqa: F401
