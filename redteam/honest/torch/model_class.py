# SPDX-License-Identifier: Apache-2.0
"""Is a Model class whose constructor takes attributes by name and whose forward has other
names.
"""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


class ModelNew(torch.nn.Module):
    def __init__(self, eps=1e-6):
        super().__init__()
        self.eps = eps

    def forward(self, hidden_states, gamma):
        return norm(hidden_states, gamma, self.eps)
