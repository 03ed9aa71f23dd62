# SPDX-License-Identifier: Apache-2.0
"""Runs an honest CUDA candidate under ncu: ncu_driver.py OPERATOR SHAPE...

Each call of each shape stands between two kernels named spin_kernel, by which ncu_agreement.py
tells the calls apart. Only these are profiled (ncu --profile-from-start off).
"""

import os
import sys
import tempfile

import torch

ROOT = os.environ.get("ROOFMARK_DATA") or os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "candidates"))

import selftest  # noqa: E402

CALLS = 5


def main():
    operator = selftest.Operator(sys.argv[1])
    stream = torch.cuda.current_stream().cuda_stream
    with tempfile.TemporaryDirectory() as folder:
        native = selftest.build(operator, folder)
        for shape in sys.argv[2:]:
            names = operator.resolve(shape)
            given = operator.module.inputs(names, 20261129, "typical", "cuda")
            outputs = selftest.blank_outputs(operator, names, "cuda")
            call = native.bind(names, {**given, **outputs}, stream)
            call()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            for _ in range(CALLS):
                torch.cuda._sleep(1000)
                call()
            torch.cuda._sleep(1000)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            del given, outputs, call
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
