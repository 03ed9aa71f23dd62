# SPDX-License-Identifier: Apache-2.0
"""One call of a candidate for a checking tool to watch:

    python3 roofmark_sanitize.py REQUEST PROGRAM

No judge listens, and nothing is lent: each tensor lies in an allocation of its own and of its own
size, so that the tool sees an access beside it. PROGRAM is what is loaded. REQUEST is a JSON file
with `load`, `init` (requests of worker/worker.h), `native`, and `inputs` and `outputs`, lists of
{name, dtype, sizes, file}, with files beside it. Ends with 0 when the call returned.
"""

import ctypes
import json
import os
import sys

import torch

import roofmark_candidate
from roofmark_arenas import refusal_of
from roofmark_cpu import DTYPES, with_fp8_type


class _Device:
    name = "cuda"
    torch_device = torch.device("cuda", 0)

    def synchronize(self):
        torch.cuda.synchronize()


class _Tensors:
    """In place of the arenas that a judge lends."""

    def __init__(self, tensors, workspace):
        self._tensors = tensors
        self._workspace = workspace

    def tensors(self, name):
        return self._tensors[name]

    def workspace(self, _request):
        return self._workspace


class _View(ctypes.Structure):
    """DLTensor, as worker/dlpack.h has it."""

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


# By the card's names: DLPack's type code and bits.
_TYPES = {
    "f32": (2, 32),
    "f16": (2, 16),
    "bf16": (4, 16),
    "f8_e4m3fn": (10, 8),
    "f8_e4m3fnuz": (11, 8),
    "i32": (0, 32),
    "i64": (0, 64),
    "u8": (1, 8),
}


def _bytes_of(row):
    count = 1
    for size in row["sizes"]:
        count *= size
    return count * torch.empty(0, dtype=DTYPES[row["dtype"]]).element_size()


def _tensor(row):
    """A tensor on the device, from its file, or poisoned where it has none."""
    if _bytes_of(row) == 0:
        return torch.empty(row["sizes"], dtype=DTYPES[row["dtype"]], device=_Device.torch_device)
    if row["file"]:
        folder = os.path.dirname(sys.argv[1])
        with open(os.path.join(folder, row["file"]), "rb") as file:
            data = torch.frombuffer(bytearray(file.read()), dtype=torch.uint8)
    else:
        data = torch.full((_bytes_of(row),), 0xFF, dtype=torch.uint8)
    return data.view(DTYPES[row["dtype"]]).view(row["sizes"]).to(_Device.torch_device)


def _arguments(request, tensors, keep):
    """The argument struct of a native candidate (worker/native_args.h)."""
    contract, shape = request["load"]["contract"], request["init"]["shape"]
    rows = {row["name"]: row for row in request["inputs"] + request["outputs"]}
    block = b""
    for name in contract["inputs"] + contract["outputs"]:
        sizes = rows[name]["sizes"]
        strides, stride = [], 1
        for size in reversed(sizes):
            strides.insert(0, stride)
            stride *= size
        arrays = [(ctypes.c_int64 * len(numbers))(*numbers) for numbers in (sizes, strides)]
        keep.extend(arrays)
        code, bits = _TYPES[rows[name]["dtype"]]
        data = tensors[name].data_ptr() if tensors else None
        block += bytes(_View(data, 2, 0, len(sizes), code, bits, 1, arrays[0], arrays[1], 0))
    for axis in contract["axes"]:
        block += bytes(ctypes.c_int64(shape[axis]))
    for attribute in contract["attributes"]:
        block += bytes(ctypes.c_double(shape[attribute]))
    return ctypes.create_string_buffer(block, len(block))


def _call_native(request, tensors):
    library = ctypes.CDLL(request["load"]["path"])
    keep = []
    sizes_only = _arguments(request, None, keep)
    if hasattr(library, "init") and library.init(sizes_only) != 0:
        raise RuntimeError("init failed")
    workspace = None
    if hasattr(library, "workspace_bytes"):
        library.workspace_bytes.restype = ctypes.c_int64
        size = library.workspace_bytes(sizes_only)
        if size > 0:
            workspace = torch.full((size,), 0xFF, dtype=torch.uint8).to(_Device.torch_device)
    run = getattr(library, request["load"]["entry"])
    run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    data = workspace.data_ptr() if workspace is not None else None
    arguments = _arguments(request, tensors, keep)
    status = run(ctypes.addressof(arguments), data, stream.cuda_stream)
    torch.cuda.synchronize()
    if status != 0:
        raise RuntimeError("run returned %d" % status)


def _call_python(request, given, outputs):
    worker = roofmark_candidate.Worker(_Device())
    fp8 = {row["name"]: row["dtype"] for row in request["inputs"] + request["outputs"]}
    typed = [
        {name: with_fp8_type(tensor, fp8[name]) for name, tensor in tensors.items()}
        for tensors in (given, outputs)
    ]
    worker._arenas = _Tensors({"in": typed[0], "out": typed[1]}, None)
    worker.load(request["load"], [])
    size = worker.init(request["init"], [])["workspace_bytes"]
    if size > 0:
        workspace = torch.full((size,), 0xFF, dtype=torch.uint8).to(_Device.torch_device)
        worker._arenas = _Tensors({"in": typed[0], "out": typed[1]}, workspace)
    worker.call({"in": "in", "out": "out"}, [])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    request["load"]["path"] = sys.argv[2]
    torch.cuda.init()
    given = {row["name"]: _tensor(row) for row in request["inputs"]}
    outputs = {row["name"]: _tensor(row) for row in request["outputs"]}
    try:
        if request["native"]:
            # Outputs that are updated in place hold their input beforehand.
            _call_native(request, dict(given, **outputs))
        else:
            _call_python(request, given, outputs)
    except BaseException as error:  # a candidate may raise anything, SystemExit too
        print("the call failed: %s" % refusal_of(error).reason.split("\n")[0])
        return 1
    print("the call returned")
    return 0


if __name__ == "__main__":
    sys.exit(main())
