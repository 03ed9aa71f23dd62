# SPDX-License-Identifier: Apache-2.0
"""Returns one row fewer."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


class Model:
    def __init__(self, eps):
        self.eps = eps

    def __call__(self, x, weight):
        return norm(x, weight, self.eps)[1:]
