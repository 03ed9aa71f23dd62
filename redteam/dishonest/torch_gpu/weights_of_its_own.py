# SPDX-License-Identifier: Apache-2.0
"""RPL, ORC: Draws weights of its own, from the seed that it thinks the judge uses, and ignores the
given ones."""

import torch


class ModelNew(torch.nn.Module):
    def __init__(self, hidden, eps):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(hidden, dtype=torch.bfloat16))
        self.eps = eps

    def forward(self, x, weight):
        wide = x.float()
        normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (normed * self.weight.float()).to(x.dtype)
