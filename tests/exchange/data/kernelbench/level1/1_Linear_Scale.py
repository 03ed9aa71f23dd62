# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    """A linear layer with a scale per column, in KernelBench's shape."""

    def __init__(self, features, scale_shape):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.scale = nn.Parameter(torch.rand(scale_shape) + 0.5)

    def forward(self, x, power):
        return torch.relu(self.linear(x)) * self.scale**power


def get_inputs():
    return [torch.rand(16, 96), 2]


def get_init_inputs():
    return [96, (96,)]
