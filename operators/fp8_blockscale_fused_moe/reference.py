# SPDX-License-Identifier: Apache-2.0
"""The fp8 mixture-of-experts layer with block scales in f8_e4m3fnuz, gfx942's format; see
roofmark_ref/fp8_blockscale_fused_moe.py for the contract and the inputs."""

from roofmark_ref import fp8_blockscale_fused_moe as layer

_DTYPE = "f8_e4m3fnuz"


def inputs(shape, seed, regime, device):
    return layer.inputs(shape, seed, regime, device, _DTYPE)


def reference(shape, **tensors):
    return layer.reference(_DTYPE, **tensors)
