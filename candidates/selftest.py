# SPDX-License-Identifier: Apache-2.0
"""Checks and times the candidates of this folder on the machine at hand, without the judge.

Needs python3 >= 3.11 with PyTorch and a CUDA device, and nvcc for the cuda lane. It trusts the
candidates and its timer is a plain event pair, so it is for whoever writes one; evidence comes from
`roofmark judge`.

    python3 candidates/selftest.py                          every operator, lanes cuda and triton
    python3 candidates/selftest.py rms_norm --lanes torch_eager --shapes 0,52 --regimes typical
"""

import argparse
import ctypes
import inspect
import os
import subprocess
import sys
import tempfile
import time
import tomllib
import traceback

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "tests", "operators"))

from card import OPERATORS, Operator, evaluate, load_module  # noqa: E402

TELLING = {
    "rms_norm": (
        "27",
        "14",
        "53",
        "c-prefill-32k-h8192",
        "c-decode-b64-h4096",
        "47",
        "c-prefill-odd",
    ),
    "silu_and_mul": ("8", "36", "c-decode-b64-w14336", "0", "c-prefill-odd"),
    "block_scaled_mm": (
        "0",
        "4",
        "16",
        "c-decode-m1-n7168-k16384",
        "c-decode-m64-n2112-k7168",
        "c-prefill-m4096-n4096-k7168",
        "c-prefill-m1000-n2112-k7168",
    ),
    "unified_attention": (
        "0",
        "9",
        "20",
        "5",
        "8",
        "4",
        "c-decode-b1-128k",
        "c-decode-b64-8k",
        "c-decode-b64-ragged",
        "c-chunk-2k-of-8k",
        "c-mixed-chunk-2k-decode-63",
        "c-mixed-ragged",
        "c-verify-b16-q4-8k",
        "c-decode-b16-16k-d256",
    ),
}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


DLPACK = """#pragma once
#include <stdint.h>
typedef struct { int32_t device_type; int32_t device_id; } DLDevice;
typedef struct { uint8_t code; uint8_t bits; uint16_t lanes; } DLDataType;
typedef struct { void* data; DLDevice device; int32_t ndim; DLDataType dtype; int64_t* shape;
                 int64_t* strides; uint64_t byte_offset; } DLTensor;
"""


def header(operator):
    """roofmark/<operator>.h, as `roofmark pack` writes it."""
    lines = [
        "  DLTensor %s;" % t["name"] for t in operator.card["inputs"] + operator.card["outputs"]
    ]
    lines += ["  int64_t %s;" % name for name in operator.integers()]
    lines += ["  double %s;" % name for name in operator.card["attributes"]]
    return '#pragma once\n#include "roofmark/abi.h"\ntypedef struct {\n%s\n} %s_args;\n' % (
        "\n".join(lines),
        operator.name,
    )


def blank_outputs(operator, names, device):
    dtypes = {"bf16": torch.bfloat16, "f32": torch.float32}
    return {
        t["name"]: torch.full(
            operator.sizes(t, names), float("nan"), dtype=dtypes[t["dtype"]], device=device
        )
        for t in operator.card["outputs"]
    }


class Native:
    """A shared library with the native entry points."""

    def __init__(self, operator, library):
        self.operator = operator
        self.library = ctypes.CDLL(library)
        self.library.run.argtypes = [ctypes.c_void_p] * 3
        fields = [(t["name"], DLTensor) for t in operator.card["inputs"] + operator.card["outputs"]]
        fields += [(name, ctypes.c_int64) for name in operator.integers()]
        fields += [(name, ctypes.c_double) for name in operator.card["attributes"]]
        self.struct = type("Args", (ctypes.Structure,), {"_fields_": fields})

    def bind(self, names, tensors, stream):
        args = self.struct()
        keep = []
        for name, tensor in tensors.items():
            view = getattr(args, name)
            shape = (ctypes.c_int64 * tensor.dim())(*tensor.shape)
            keep.append((shape, tensor))
            view.data, view.ndim, view.shape = tensor.data_ptr(), tensor.dim(), shape
        for name in self.operator.integers() + list(self.operator.card["attributes"]):
            setattr(args, name, names[name])
        workspace = None
        if hasattr(self.library, "workspace_bytes"):
            self.library.workspace_bytes.restype = ctypes.c_int64
            size = self.library.workspace_bytes(ctypes.byref(args))
            device = next(iter(tensors.values())).device
            workspace = (
                torch.full((size + 256,), 0xFF, dtype=torch.uint8, device=device) if size else None
            )
        keep.append(workspace)

        def call():
            code = self.library.run(
                ctypes.byref(args), workspace.data_ptr() if workspace is not None else None, stream
            )
            if code != 0:
                raise RuntimeError("run returned %d" % code)

        call.keep = keep
        return call


class Python:
    """A Python candidate: run(...) with any of the card's names, or a Model that returns
    outputs."""

    def __init__(self, operator, path, name):
        self.operator = operator
        self.module = load_module("%s_of_%s" % (name, operator.name), path)

    def bind(self, names, tensors, stream):
        tensors = {
            name: (
                t.view(torch.float8_e4m3fn)
                if t.dtype == torch.uint8 and hasattr(torch, "float8_e4m3fn")
                else t
            )
            for name, t in tensors.items()
        }
        if hasattr(self.module, "init"):
            self.module.init(names)
        if hasattr(self.module, "Model"):
            accepted = inspect.signature(self.module.Model.__init__).parameters
            model = self.module.Model(
                **{k: v for k, v in self.operator.card["attributes"].items() if k in accepted}
            )
            given = [tensors[t["name"]] for t in self.operator.card["inputs"]]
            returned = self.operator.card["outputs"][0]["name"]
            return lambda: {returned: model(*given)}
        given = {**names, **tensors}
        chosen = {name: given[name] for name in inspect.signature(self.module.run).parameters}
        return lambda: self.module.run(**chosen)


def cuda_source(name):
    """One file, or the folder's file that holds the entry."""
    folder = os.path.join(HERE, name, "cuda")
    if not os.path.isdir(folder):
        return folder + ".cu"
    with open(os.path.join(folder, "candidate.toml"), "rb") as file:
        return os.path.join(folder, tomllib.load(file)["entry"].split("::")[0])


def build(operator, folder):
    include = os.path.join(folder, "roofmark")
    os.makedirs(include, exist_ok=True)
    for name, text in (("abi.h", DLPACK), (operator.name + ".h", header(operator))):
        with open(os.path.join(include, name), "w") as file:
            file.write(text)
    library = os.path.join(folder, operator.name + ".so")
    subprocess.run(
        ["nvcc", "-arch=sm_90", "-O3", "-shared", "-Xcompiler", "-fPIC", "-std=c++20"]
        + ["-I", folder, "-o", library, cuda_source(operator.name)],
        check=True,
    )
    return Native(operator, library)


def median_us(call, flush, budget_s=0.4):
    """Median of event pairs, caches emptied by reading before each: at least five of them."""
    for _ in range(2):
        call()
    torch.cuda.synchronize()
    times, end = [], time.monotonic() + budget_s
    while len(times) < 5 or (time.monotonic() < end and len(times) < 50):
        flush.sum()
        begin, finish = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        finish.record()
        finish.synchronize()
        times.append(begin.elapsed_time(finish) * 1e3)
    return sorted(times)[len(times) // 2]


def figures(operator, names, us):
    card = operator.card
    moved = evaluate(card["traffic"]["read"], names) + evaluate(card["traffic"]["write"], names)
    matrix = sum(
        evaluate(w["ops"], names) for w in card["work"] if w["engine"].startswith("tensor")
    )
    rate = "%7.0f GB/s" % (moved / us * 1e-3)
    return rate + (" %7.1f TFLOP/s" % (matrix / us * 1e-6) if matrix else "")


def check(operator, runners, shape_id, regimes, flush, timed):
    names = operator.resolve(shape_id)
    failed = 0
    for regime in regimes:
        given = operator.module.inputs(names, 20251129, regime, "cuda")
        want = operator.module.reference(names, **given)
        torch.cuda.synchronize()
        for lane, runner in runners.items():
            label = "%-17s %-28s %-10s %-12s" % (operator.name, shape_id, regime, lane)
            try:
                outputs = blank_outputs(operator, names, "cuda")
                call = runner.bind(
                    names, {**given, **outputs}, torch.cuda.current_stream().cuda_stream
                )
                outputs = call() or outputs
                torch.cuda.synchronize()
                worst, relative, error = operator.compare(outputs, want)
                ok = worst <= 1 and relative <= 1
                line = "%s %s worst %.3f l2 %.3f (%.2e)" % (
                    label,
                    "ok   " if ok else "WRONG",
                    worst,
                    relative,
                    error,
                )
                if timed and regime == regimes[0]:
                    us = median_us(call, flush)
                    line += " %10.1f us %s" % (us, figures(operator, names, us))
                print(line, flush=True)
                failed += not ok
            except Exception as failure:  # the next candidate still gets its turn
                failed += 1
                print(
                    "%s FAILED %s: %s" % (label, type(failure).__name__, str(failure)[:300]),
                    flush=True,
                )
                if "-v" in sys.argv:
                    traceback.print_exc()
    return failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("operators", nargs="*", default=[], help="default: all four")
    parser.add_argument(
        "--lanes", default="cuda,triton", help="file stems under candidates/<operator>/"
    )
    parser.add_argument(
        "--shapes", default="", help="ids; default: the small tier, then some telling ones"
    )
    parser.add_argument("--regimes", default="typical,heavy_tail,offset")
    parser.add_argument("-v", action="store_true", help="stack traces")
    options = parser.parse_args()
    flush = torch.ones(1 << 28, dtype=torch.float32, device="cuda")[: 1 << 27]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in options.operators or OPERATORS:
            operator = Operator(name)
            runners = {}
            for lane in options.lanes.split(","):
                try:
                    path = os.path.join(HERE, name, lane + ".py")
                    runners[lane] = (
                        build(operator, folder) if lane == "cuda" else Python(operator, path, lane)
                    )
                except Exception as failure:
                    failed += 1
                    print("%s %s does not build: %s" % (name, lane, failure), flush=True)
            small = operator.tier("small")
            chosen = options.shapes.split(",") if options.shapes else small + list(TELLING[name])
            for shape_id in chosen:
                regimes = (
                    options.regimes.split(",")
                    if shape_id in small
                    else options.regimes.split(",")[:1]
                )
                failed += check(operator, runners, shape_id, regimes, flush, shape_id not in small)
                torch.cuda.empty_cache()
    print("%d failed" % failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
