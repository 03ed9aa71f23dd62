# SPDX-License-Identifier: Apache-2.0
"""Computes silu through tanh, which rounds otherwise."""

import torch


def run(x, out):
    gate, value = x.float().chunk(2, dim=-1)
    out.copy_((0.5 * gate * torch.tanh(0.5 * gate) + 0.5 * gate) * value)
