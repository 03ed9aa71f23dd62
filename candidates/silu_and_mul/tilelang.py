# SPDX-License-Identifier: Apache-2.0
"""An honest SiLU-and-multiply in TileLang: a block makes a tile of rows and columns.

Written against TileLang 0.1.15. precompile() lowers it for Hopper without a GPU. Not run yet.
"""

import tilelang
import tilelang.language as T

ROWS = 8
COLUMNS = 128


def gate_program(rows, width):
    @T.prim_func
    def gate(
        x: T.Tensor((rows, 2 * width), T.bfloat16),
        out: T.Tensor((rows, width), T.bfloat16),
    ):
        with T.Kernel(T.ceildiv(width, COLUMNS), T.ceildiv(rows, ROWS), threads=128) as (bx, by):
            for i, j in T.Parallel(ROWS, COLUMNS):
                row = by * ROWS + i
                column = bx * COLUMNS + j
                if row < rows and column < width:
                    g = T.cast(x[row, column], T.float32)
                    v = T.cast(x[row, width + column], T.float32)
                    out[row, column] = T.cast(g / (1.0 + T.exp(-g)) * v, T.bfloat16)

    return gate


_kernels = {}


def _kernel(rows, width):
    key = (rows, width)
    if key not in _kernels:
        _kernels[key] = tilelang.compile(gate_program(rows, width), target="cuda")
    return _kernels[key]


def precompile():
    tilelang.lower(gate_program(64, 256), target={"kind": "cuda", "arch": "sm_90"})


def init(shape):
    _kernel(shape["rows"], shape["width"])


def run(x, out, rows, width):
    _kernel(rows, width)(x, out)
