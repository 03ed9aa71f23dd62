# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return x * mask


def get_inputs():
    return [torch.rand(4, 4), torch.rand(4, 4) > 0.5]
