# SPDX-License-Identifier: Apache-2.0
"""An honest SiLU-and-multiply in FlyDSL: a thread an element of one row, rows along the grid.

Written against FlyDSL 0.5, which compiles for AMD GPUs alone. Not run: its text is checked.
"""

import flydsl.compiler as flyc
import flydsl.expr as fx
import torch

THREADS = 256


@flyc.kernel
def gate_kernel(x: fx.Tensor, out: fx.Tensor, width: fx.Constexpr[int]):
    column = fx.block_idx.x * THREADS + fx.thread_idx.x
    row = fx.block_idx.y
    if column < width:
        gate = x[row, column].to(fx.Float32)
        value = x[row, column + width].to(fx.Float32)
        silu = gate / (1.0 + fx.math.exp(-gate))
        out[row, column] = (silu * value).to(fx.BFloat16)


@flyc.jit
def launch(
    x: fx.Tensor,
    out: fx.Tensor,
    rows: fx.Int32,
    width: fx.Constexpr[int],
    stream: fx.Stream = fx.Stream(None),
):
    tiles = (width + THREADS - 1) // THREADS
    gate_kernel(x, out, width).launch(
        grid=(tiles, rows, 1), block=(THREADS, 1, 1), stream=stream
    )


def run(x, out, rows, width):
    launch(x, out, rows, width, stream=torch.cuda.current_stream())
