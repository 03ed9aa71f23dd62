# SPDX-License-Identifier: Apache-2.0
"""Norm and quantisation in honest and in wrong ways, shared by both fp8 formats."""

from roofmark_ref.fused_rmsnorm_quant_variants import (  # noqa: F401
    EXTRA_SHAPES,
    HONEST,
    WRONG,
)
