# SPDX-License-Identifier: Apache-2.0
"""Norm and quantisation to e4m3fn in NumPy: the formula does not know the format."""

from numpy_fused_rmsnorm_quant import compute  # noqa: F401
