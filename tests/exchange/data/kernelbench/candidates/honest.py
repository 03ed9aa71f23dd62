# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features, scale_shape):
        super().__init__()
        assert isinstance(scale_shape, tuple)
        self.linear = nn.Linear(features, features)
        self.scale = nn.Parameter(torch.rand(scale_shape) + 0.5)

    def forward(self, x, power):
        y = torch.addmm(self.linear.bias, x, self.linear.weight.t())
        return y.clamp_(min=0).mul_(self.scale.pow(power))
