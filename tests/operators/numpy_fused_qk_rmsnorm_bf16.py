# SPDX-License-Identifier: Apache-2.0
"""The bfloat16 norm of query and key heads in NumPy: the float16 one's formula."""

from numpy_fused_qk_rmsnorm import compute  # noqa: F401
