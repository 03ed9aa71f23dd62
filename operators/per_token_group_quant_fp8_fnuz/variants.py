# SPDX-License-Identifier: Apache-2.0
"""Quantisation of groups in honest and in wrong ways, shared by both fp8 formats."""

from roofmark_ref.per_token_group_quant_fp8_variants import (  # noqa: F401
    EXTRA_SHAPES,
    HONEST,
    WRONG,
)
