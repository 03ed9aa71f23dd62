# SPDX-License-Identifier: Apache-2.0
"""RMSNorm in NumPy, by another route than the reference."""

import math

import numpy
import torch
import torch.nn.functional as F

from arrays import wide


def compute(shape, x, weight):
    x, weight = wide(x), wide(weight)
    rows = [row / math.sqrt(numpy.mean(row * row) + shape["eps"]) * weight for row in x]
    return {"out": numpy.stack(rows)}


def torch_own(shape, x, weight):
    if not hasattr(F, "rms_norm"):
        return None
    out = F.rms_norm(x.float(), (shape["hidden"],), weight.float(), shape["eps"])
    return {"out": out.to(torch.bfloat16)}
