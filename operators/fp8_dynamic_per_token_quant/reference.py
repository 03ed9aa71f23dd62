# SPDX-License-Identifier: Apache-2.0
"""Dynamic per-token quantisation to e4m3fnuz: what a correct kernel computes, and inputs that show
a wrong one. roofmark_ref/fp8_dynamic_per_token_quant.py states it for both formats."""

from roofmark_ref.fp8_dynamic_per_token_quant import inputs, reference  # noqa: F401

_ROWS = ("x",)  # of these, each row is computed by itself
