# SPDX-License-Identifier: Apache-2.0
"""Residual addition and RMSNorm in NumPy, float64, row by row."""

import math

import numpy
import torch
import torch.nn.functional as F


def to_bf16(values):
    """Rounds float64 values, sums of two bf16 numbers, to the nearest bf16, ties to even."""
    fraction, exponent = numpy.frexp(values)
    return numpy.ldexp(numpy.rint(fraction * 256.0), exponent - 8)


def compute(shape, x, residual, weight):
    added = to_bf16(x.double().numpy() + residual.double().numpy())
    weight = weight.double().numpy()
    rows = [row * weight / math.sqrt(row @ row / row.size + shape["eps"]) for row in added]
    return {"out": numpy.stack(rows), "residual_out": added}


def torch_own(shape, x, residual, weight):
    if not hasattr(F, "rms_norm"):
        return None
    added = (x.float() + residual.float()).to(torch.bfloat16)
    out = F.rms_norm(added.float(), (shape["hidden"],), weight.float(), shape["eps"])
    return {"out": out.to(torch.bfloat16), "residual_out": added}
