# SPDX-License-Identifier: Apache-2.0
"""The norm of query and key heads in honest and in wrong ways, shared by both 16-bit types; and one
that only float16 can refuse."""

from roofmark_ref import fused_qk_rmsnorm_variants as shared

EXTRA_SHAPES = shared.EXTRA_SHAPES
HONEST = shared.HONEST
WRONG = {**shared.WRONG, "summed in bf16": (shared.summed_in_bf16, ("typical", "offset"))}
