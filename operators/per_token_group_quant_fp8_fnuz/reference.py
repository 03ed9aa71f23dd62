# SPDX-License-Identifier: Apache-2.0
"""Dynamic quantisation of groups to e4m3fnuz: what a correct kernel computes, and inputs that show
a wrong one. roofmark_ref/per_token_group_quant_fp8.py states it for both formats."""

from roofmark_ref.per_token_group_quant_fp8 import inputs, reference  # noqa: F401

_ROWS = ("x",)  # of these, each row is computed by itself
