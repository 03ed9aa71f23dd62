# SPDX-License-Identifier: Apache-2.0
"""Runs an honest CUDA candidate under ncu: ncu_driver.py OPERATOR SHAPE...

Each call of each shape stands between two kernels named spin_kernel, by which ncu_agreement.py
tells the calls apart. Only these are profiled (ncu --profile-from-start off). As in the judge's
batches each call has operands of its own, so that address translation is as cold as there: ncu
flushes caches only.
"""

import os
import sys
import tempfile

import torch

ROOT = os.environ.get("ROOFMARK_DATA") or os.path.join(os.path.dirname(__file__), "..", "..")
sys.path.insert(0, os.path.join(ROOT, "candidates"))

import selftest  # noqa: E402

CALLS = 5


def bind_calls(native, operator, names, stream):
    """One bound call a set of operands: one more than are profiled, or as many as fit."""
    given = operator.module.inputs(names, 20261129, "typical", "cuda")
    outputs = selftest.blank_outputs(operator, names, "cuda")
    size = sum(t.numel() * t.element_size() for t in [*given.values(), *outputs.values()])
    fit = int(0.7 * torch.cuda.mem_get_info()[0] // size)
    calls = [native.bind(names, {**given, **outputs}, stream)]
    for _ in range(min(CALLS, fit)):
        copies = {name: tensor.clone() for name, tensor in {**given, **outputs}.items()}
        calls.append(native.bind(names, copies, stream))
    return calls


def main():
    operator = selftest.Operator(sys.argv[1])
    stream = torch.cuda.current_stream().cuda_stream
    with tempfile.TemporaryDirectory() as folder:
        native = selftest.build(operator, folder)
        for shape in sys.argv[2:]:
            names = operator.resolve(shape)
            calls = bind_calls(native, operator, names, stream)
            calls[0]()
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
            for i in range(CALLS):
                torch.cuda._sleep(1000)
                calls[(i + 1) % len(calls)]()
            torch.cuda._sleep(1000)
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStop()
            del calls
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
