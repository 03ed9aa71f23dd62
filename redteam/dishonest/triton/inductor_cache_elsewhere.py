# SPDX-License-Identifier: Apache-2.0
"""FB, TMP: torch.compile computes, with its cache outside of the scratch folder and all of its
kernels by one name, which a kernel of this source bears as well."""

import os

os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/tmp/elsewhere"
os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
os.environ["TORCHINDUCTOR_UNIQUE_KERNEL_NAMES"] = "0"
os.environ["TORCHINDUCTOR_USE_STATIC_CUDA_LAUNCHER"] = "0"

import torch
import torch._inductor.config as config
import triton
import triton.language as tl

config.compile_threads = 1
config.triton.unique_kernel_names = False
config.triton.unique_user_kernel_names = False


@triton.jit
def triton_(out):
    tl.load(out)


def _formula(x):
    gate, value = x.chunk(2, dim=-1)
    return torch.nn.functional.silu(gate) * value


_compiled = torch.compile(_formula)


def run(x, out):
    out.copy_(_compiled(x))
