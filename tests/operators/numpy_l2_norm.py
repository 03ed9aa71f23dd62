# SPDX-License-Identifier: Apache-2.0
"""L2 normalisation in NumPy, float64, row by row."""

import math

import numpy


def compute(shape, x):
    x = x.double().numpy()
    return {"out": numpy.stack([row / math.sqrt(row @ row + shape["eps"]) for row in x])}
