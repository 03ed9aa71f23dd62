# SPDX-License-Identifier: Apache-2.0
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, eps, mode):
        super().__init__()
        self.eps, self.mode = eps, mode

    def forward(self, x, lengths):
        if self.mode != "rows":
            raise ValueError(self.mode)
        rows = []
        for row in range(x.shape[0]):
            wide = x[row].float()
            count = int(lengths[row])
            rows.append(wide / (wide[:count].abs().mean() + self.eps))
        return {"y": torch.stack(rows).to(x.dtype)}
