# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, eps, mode):
        super().__init__()
        assert mode == "rows"
        self.eps = eps

    def forward(self, x, lengths):
        wide = x.float()
        inside = torch.arange(x.shape[1], device=x.device)[None, :] < lengths[:, None]
        mean = (wide.abs() * inside).sum(1, keepdim=True) / lengths[:, None]
        return {"y": (wide / (mean + self.eps)).to(x.dtype)}
