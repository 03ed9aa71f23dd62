# SPDX-License-Identifier: Apache-2.0
"""Uses a tensor subclass with __torch_function__ inside, and returns a plain tensor."""

import torch


def norm(x, weight, eps):
    wide = x.to(torch.float32)
    scaled = wide * torch.rsqrt(wide.pow(2).mean(dim=-1, keepdim=True) + eps)
    return (scaled * weight.to(torch.float32)).to(x.dtype)


class Counted(torch.Tensor):
    calls = 0

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        cls.calls += 1
        return super().__torch_function__(function, types, args, kwargs or {})


class Model:
    def __init__(self, eps):
        self.eps = eps

    def __call__(self, x, weight):
        return norm(x.as_subclass(Counted), weight, self.eps).as_subclass(torch.Tensor)
