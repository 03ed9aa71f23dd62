# SPDX-License-Identifier: Apache-2.0
"""Admission programs of the fp8 mixture-of-experts layer in f8_e4m3fnuz; see
roofmark_ref/fp8_blockscale_fused_moe_variants.py."""

from roofmark_ref import fp8_blockscale_fused_moe_variants as variants

EXTRA_SHAPES = variants.EXTRA_SHAPES
HONEST, WRONG = variants.build("f8_e4m3fnuz")
