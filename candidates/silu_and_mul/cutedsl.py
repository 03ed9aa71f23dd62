# SPDX-License-Identifier: Apache-2.0
"""An honest SiLU-and-multiply in the CuTe DSL: a thread an element, rows by blocks of the grid.

Written against nvidia-cutlass-dsl 4.8. precompile() compiles it for Hopper without a GPU.
"""

import os

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import torch
from cutlass.cute.runtime import from_dlpack, make_fake_compact_tensor

THREADS = 256
_compiled = {}


@cute.kernel
def gate_kernel(x: cute.Tensor, out: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    tile, row, _ = cute.arch.block_idx()
    width = cute.size(out, mode=[1])
    column = tile * THREADS + thread
    if column < width:
        gate = x[row, column].to(cutlass.Float32)
        value = x[row, width + column].to(cutlass.Float32)
        silu = gate / (1.0 + cute.math.exp(-gate, fastmath=True))
        out[row, column] = (silu * value).to(out.element_type)


@cute.jit
def gate(x: cute.Tensor, out: cute.Tensor, stream):
    rows = cute.size(out, mode=[0])
    width = cute.size(out, mode=[1])
    tiles = cute.ceil_div(width, THREADS)
    gate_kernel(x, out).launch(grid=(tiles, rows, 1), block=(THREADS, 1, 1), stream=stream)


def _jitted(x, out, stream):
    key = (tuple(x.shape), tuple(out.shape))
    if key not in _compiled:
        _compiled[key] = cute.compile(gate, x, out, stream)
    return _compiled[key]


def precompile():
    os.environ["CUTE_DSL_ARCH"] = "sm_90a"
    fake = [
        make_fake_compact_tensor(cutlass.BFloat16, shape, stride_order=(1, 0), assumed_align=16)
        for shape in ((64, 512), (64, 256))
    ]
    cute.compile(gate, *fake, cuda.CUstream(0))


def run(x, out):
    stream = cuda.CUstream(torch.cuda.current_stream().cuda_stream)
    given = from_dlpack(x, assumed_align=16)
    made = from_dlpack(out, assumed_align=16)
    _jitted(given, made, stream)(given, made, stream)
