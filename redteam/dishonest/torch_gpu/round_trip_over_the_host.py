# SPDX-License-Identifier: Apache-2.0
"""FB: Computes on the host's cores, and copies the answer to the device."""

import torch


def run(x, weight, out, eps):
    wide = x.cpu().float()
    root = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    out.copy_((wide * root * weight.cpu()).to(x.dtype))
