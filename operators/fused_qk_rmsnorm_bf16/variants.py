# SPDX-License-Identifier: Apache-2.0
"""The norm of query and key heads in honest and in wrong ways, shared by both 16-bit types."""

from roofmark_ref.fused_qk_rmsnorm_variants import EXTRA_SHAPES, HONEST, WRONG  # noqa: F401
