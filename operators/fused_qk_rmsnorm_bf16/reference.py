# SPDX-License-Identifier: Apache-2.0
"""RMS normalisation of query and key heads in bfloat16: what a correct kernel computes, and inputs
that show a wrong one. roofmark_ref/fused_qk_rmsnorm.py states it for both 16-bit types."""

import torch

from roofmark_ref import fused_qk_rmsnorm


def inputs(shape, seed, regime, device):
    return fused_qk_rmsnorm.inputs(shape, seed, regime, device, torch.bfloat16)


def reference(shape, hidden_states, q_weight, k_weight):
    return fused_qk_rmsnorm.reference(shape, hidden_states, q_weight, k_weight)
