# SPDX-License-Identifier: Apache-2.0
"""Rotation as a product of complex numbers in NumPy, head by head."""

import numpy


def compute(shape, qkv, positions):
    queries, kv, size = shape["query_heads"], shape["kv_heads"], shape["head_size"]
    heads = qkv.double().numpy().reshape(shape["tokens"], queries + 2 * kv, size)
    exponents = numpy.arange(size // 2) * 2.0 / size
    turned = numpy.empty_like(heads)
    for token, position in enumerate(positions.tolist()):
        turn = numpy.exp(1j * position / float(shape["base"]) ** exponents)
        for head in range(queries + kv):
            x = heads[token, head]
            z = (x[: size // 2] + 1j * x[size // 2 :]) * turn
            turned[token, head] = numpy.concatenate([z.real, z.imag])
    return {
        "q": turned[:, :queries],
        "k": turned[:, queries : queries + kv],
        "v": heads[:, queries + kv :],
    }
