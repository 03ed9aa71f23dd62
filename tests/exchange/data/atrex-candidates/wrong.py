# SPDX-License-Identifier: Apache-2.0
import torch.nn as nn


class Model(nn.Module):
    """Takes the whole row where only its first `lengths` elements count."""

    def __init__(self, eps, mode):
        super().__init__()
        self.eps = eps

    def forward(self, x, lengths):
        wide = x.float()
        return {"y": (wide / (wide.abs().mean(1, keepdim=True) + self.eps)).to(x.dtype)}
