# SPDX-License-Identifier: Apache-2.0
"""Rotation by three position axes as a product of complex numbers in NumPy, token by token."""

import numpy


def compute(shape, q, k, cos, sin):
    cos, sin, half = cos.double().numpy(), sin.double().numpy(), int(shape["half"])
    edges = numpy.cumsum([shape["section_t"], shape["section_h"]])
    axis = numpy.searchsorted(edges, numpy.arange(half), side="right")
    out = {}
    for name, tensor in (("q_out", q), ("k_out", k)):
        out[name] = tensor.double().numpy().copy()
        for token, heads in enumerate(out[name]):
            turn = numpy.array(
                [cos[axis[i], token, i] + 1j * sin[axis[i], token, i] for i in range(half)]
            )
            z = (heads[:, :half] + 1j * heads[:, half : 2 * half]) * turn
            heads[:, :half], heads[:, half : 2 * half] = z.real, z.imag
    return out
