# SPDX-License-Identifier: Apache-2.0
"""What Triton does once in each process, done before anybody waits for it: imports of a backend,
the hash of its own files, a C module of its driver (built with the host's compiler) and the start
of LLVM. The device stays closed. The candidate's cache stays as it is: what is compiled here goes
to a folder of its own.
"""

import os
import shutil
import tempfile

import triton
import triton.language as tl


@triton.jit
def _copy(source, target, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(source + at, mask=at < count, other=0.0)
    tl.store(target + at, value, mask=at < count)


def _compile():
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.driver import CudaUtils
    from triton.compiler import ASTSource

    CudaUtils()
    source = ASTSource(
        fn=_copy,
        signature={"source": "*fp32", "target": "*fp32", "count": "i32", "BLOCK": "constexpr"},
        constexprs={(3,): 128},
    )
    # Which architecture does not matter: everything before the last step is the same for all.
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def warm():
    cache = os.environ.get("TRITON_CACHE_DIR")
    folder = tempfile.mkdtemp(prefix="roofmark-triton-")
    os.environ["TRITON_CACHE_DIR"] = folder
    try:
        _compile()
    finally:
        if cache is None:
            del os.environ["TRITON_CACHE_DIR"]
        else:
            os.environ["TRITON_CACHE_DIR"] = cache
        shutil.rmtree(folder, ignore_errors=True)
