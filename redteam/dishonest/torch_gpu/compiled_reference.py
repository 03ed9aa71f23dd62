# SPDX-License-Identifier: Apache-2.0
"""FB: torch.compile of the formula: another compiler's kernels, under the candidate's name."""

import torch


class Model(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps
        self.compiled = torch.compile(self.formula)

    def formula(self, x, weight):
        wide = x.float()
        root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.eps)
        return (wide * root * weight).to(x.dtype)

    def forward(self, x, weight):
        return self.compiled(x, weight)
