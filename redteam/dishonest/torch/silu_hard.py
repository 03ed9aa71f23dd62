# SPDX-License-Identifier: Apache-2.0
"""Takes the hard sigmoid, which is cheaper."""

import torch


def run(x, out):
    gate, value = x.float().chunk(2, dim=-1)
    out.copy_(gate * torch.nn.functional.hardsigmoid(gate) * value)
