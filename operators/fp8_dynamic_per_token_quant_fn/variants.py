# SPDX-License-Identifier: Apache-2.0
"""Per-token quantisation in honest and in wrong ways, shared by both fp8 formats."""

from roofmark_ref.fp8_dynamic_per_token_quant_variants import (  # noqa: F401
    EXTRA_SHAPES,
    HONEST,
    WRONG,
)
