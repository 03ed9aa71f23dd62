# SPDX-License-Identifier: Apache-2.0
"""Norm and quantisation to e4m3fnuz in one pass: what a correct kernel computes, and
inputs that show a wrong one. roofmark_ref/fused_rmsnorm_quant.py states it for both formats."""

from roofmark_ref.fused_rmsnorm_quant import inputs, reference  # noqa: F401

_ROWS = ("x", "residual")  # of these, each row is computed by itself
