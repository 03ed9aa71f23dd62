# SPDX-License-Identifier: Apache-2.0
"""Operators that `roofmark suite import` made of other benchmarks' problems, at run time.

An imported folder keeps the original files under origin/ and says in import.json what they are; the
functions here call them as their own benchmark does, with a secret seed and on the device at hand:

    inputs, reference = imported.load(folder)
"""

import importlib.util
import json
import mmap
import os
import random
import struct
import sys
import types

import torch

from roofmark_ref import fp8

try:
    from torch.overrides import TorchFunctionMode
except ImportError:  # before PyTorch 1.13
    TorchFunctionMode = None

# Parameters are built from this seed in the reference and in every candidate, as KernelBench does.
CONSTRUCT_SEED = 42

_FACTORIES = frozenset(
    getattr(torch, name)
    for name in (
        "arange empty empty_strided eye full linspace logspace ones rand randint randn randperm "
        "tensor zeros"
    ).split()
)

FP8 = {"float8_e4m3fn": "f8_e4m3fn", "float8_e4m3fnuz": "f8_e4m3fnuz"}
OLD_NAMES = {"float8_e4m3": "float8_e4m3fn"}  # of FlashInfer-Bench's first schema
NAMES = {
    torch.float32: "f32",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.uint8: "u8",
}
for _torch_name, _our_name in FP8.items():
    if hasattr(torch, _torch_name):
        NAMES[getattr(torch, _torch_name)] = _our_name


class OnDevice(TorchFunctionMode or object):
    """What a file places on "cuda" goes to the device at hand; with `all_new`, all it makes."""

    def __init__(self, device, all_new=False):
        super().__init__()
        self._device = torch.device(device)
        self._all_new = all_new

    if TorchFunctionMode is None:

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

    def _moved(self, value):
        if isinstance(value, str) and value.split(":")[0] == "cuda":
            return self._device
        if isinstance(value, torch.device) and value.type == "cuda":
            return self._device
        return value

    def __torch_function__(self, function, types_, args=(), kwargs=None):
        kwargs = {name: self._moved(value) for name, value in (kwargs or {}).items()}
        args = tuple(self._moved(value) for value in args)
        if function is torch.Tensor.cuda:
            return args[0].to(self._device)
        if self._all_new and function in _FACTORIES and kwargs.get("device") is None:
            kwargs["device"] = self._device
        return function(*args, **kwargs)


def seed_all(seed):
    torch.manual_seed(seed % (1 << 63))
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % (1 << 32))


def import_file(path, name):
    folder = os.path.dirname(path)
    if folder not in sys.path:
        sys.path.append(folder)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def leaves(result):
    """The outputs of a call, in order, with the names that it gives them or None."""
    if isinstance(result, dict):
        return list(result.values()), [str(key) for key in result]
    if isinstance(result, (tuple, list)):
        return list(result), None
    return [result], None


def read_safetensors(path, key):
    """One tensor of a safetensors file: 8 bytes of length, a JSON header, the bytes."""
    types_of = {
        "F32": (torch.float32, None),
        "F16": (torch.float16, None),
        "BF16": (torch.bfloat16, None),
        "I32": (torch.int32, None),
        "I64": (torch.int64, None),
        "U8": (torch.uint8, None),
        "F8_E4M3": (torch.uint8, "float8_e4m3fn"),
    }
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > 1 << 27:
            raise ValueError("%s: a header of %d bytes is no safetensors header" % (path, length))
        header = json.loads(file.read(length))
        if key not in header or key == "__metadata__":
            known = ", ".join(sorted(set(header) - {"__metadata__"}))
            raise ValueError("%s holds no tensor '%s' (it has %s)" % (path, key, known))
        entry = header[key]
        if entry["dtype"] not in types_of:
            raise ValueError("%s: %s has dtype %s" % (path, key, entry["dtype"]))
        dtype, float8 = types_of[entry["dtype"]]
        begin, end = entry["data_offsets"]
        sizes = entry["shape"]
        if begin == end:
            return torch.empty(sizes, dtype=dtype), float8
        whole = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = 8 + length + begin
        tensor = torch.frombuffer(bytearray(whole[start : start + end - begin]), dtype=dtype)
        return tensor.reshape(sizes), float8


def random_tensor(sizes, dtype_name, device):
    """As FlashInfer-Bench and SOL-ExecBench draw it; fp8 as codes (uint8)."""
    if dtype_name in FP8:
        wide = torch.randn(sizes, dtype=torch.float32, device=device).clamp_(-2.0, 2.0)
        return fp8.encode(wide, FP8[dtype_name])
    dtype = getattr(torch, dtype_name)
    if dtype.is_floating_point:
        return torch.randn(sizes, dtype=dtype, device=device)
    low, high = (0, 256) if dtype == torch.uint8 else (-1024, 1024)
    return torch.randint(low, high, sizes, dtype=dtype, device=device)


def _permuted(tensor):
    """The rows (of the first dimension that has several) in another order."""
    for axis, size in enumerate(tensor.shape):
        if size > 1:
            return tensor.index_select(axis, torch.randperm(size).to(tensor.device))
    return tensor


class KernelBench:
    """A problem file: class Model, get_inputs() and get_init_inputs()."""

    def __init__(self, folder, about):
        self.module = import_file(os.path.join(folder, about["files"]["problem"]), "origin_problem")
        self._call = about.get("call")
        self._models = {}

    def draw(self, _shape, device):
        with OnDevice(device, all_new=True):
            return list(self.module.get_inputs())

    def init_arguments(self):
        seed_all(CONSTRUCT_SEED)
        get = getattr(self.module, "get_init_inputs", None)
        found = get() if callable(get) else []
        return ([], dict(found)) if isinstance(found, dict) else (list(found), {})

    def model(self, device):
        key = str(device)
        if key not in self._models:
            args, kwargs = self.init_arguments()
            seed_all(CONSTRUCT_SEED)
            self._models[key] = self.module.Model(*args, **kwargs).to(device)
        return self._models[key]

    def compute(self, _shape, device, values):
        with OnDevice(device):
            return self.model(device)(*values)

    def inputs(self, shape, device):
        drawn = self.draw(shape, device)
        names = [(at, one["input"]) for at, one in enumerate(self._call) if "input" in one]
        return {name: drawn[at] for at, name in names}

    def reference(self, shape, device, tensors):
        values = [
            tensors[one["input"]] if "input" in one else one["value"] for one in self._call
        ]
        return self.compute(shape, device, values)


class Atrex:
    """An operator directory: reference.py with class Model, input.py with _make_inputs()."""

    def __init__(self, folder, about):
        files = about["files"]
        self.module = import_file(os.path.join(folder, files["reference"]), "origin_reference")
        self._input = import_file(os.path.join(folder, files["input"]), "origin_input")
        with open(os.path.join(folder, files["shapes"]), encoding="utf-8") as file:
            self.shapes = list(json.load(file).items())
        self._models = {}

    def draw(self, shape, device):
        arguments = self.shapes[int(shape["case"])][1].get("input_kwargs") or {}
        with OnDevice(device, all_new=True):
            return self._input._make_inputs(**arguments)

    def compute(self, shape, device, tensors):
        case = int(shape["case"])
        if (case, str(device)) not in self._models:
            arguments = self.shapes[case][1].get("init_kwargs") or {}
            with OnDevice(device):
                seed_all(CONSTRUCT_SEED)
                model = self.module.Model(**arguments)
                if isinstance(model, torch.nn.Module):
                    model = model.to(device)
            self._models[case, str(device)] = model
        with OnDevice(device):
            return self._models[case, str(device)](**tensors)

    inputs = draw
    reference = compute


class FlashInfer:
    """A definition with its workloads, of FlashInfer-Bench or of SOL-ExecBench."""

    def __init__(self, folder, about):
        self._folder = folder
        with open(os.path.join(folder, about["files"]["definition"]), encoding="utf-8") as file:
            self.definition = json.load(file)
        for spec in self.definition["inputs"].values():
            spec["dtype"] = OLD_NAMES.get(spec["dtype"], spec["dtype"])
        self.workloads = about.get("workloads", [])
        self.module = types.ModuleType("origin_definition")
        sys.modules["origin_definition"] = self.module
        name = about["files"]["definition"] + ":reference"
        exec(compile(self.definition["reference"], name, "exec"), self.module.__dict__)

    def _entry(self, shape):
        return self.workloads[int(shape["case"])]

    def scalars(self, entry):
        return {
            name: one["value"]
            for name, one in entry["workload"].get("inputs", {}).items()
            if one.get("type") == "scalar"
        }

    def inputs(self, shape, device):
        entry = self._entry(shape)
        with OnDevice(device):
            if entry["custom"]:
                function = getattr(self.module, self.definition["custom_inputs_entrypoint"])
                return function(dict(entry["axes"], **self.scalars(entry)), torch.device(device))
            tensors = {}
            for name, spec in self.definition["inputs"].items():
                if spec["shape"] is None:
                    continue
                one = entry["workload"]["inputs"].get(name, {"type": "random"})
                if one["type"] == "safetensors":
                    path = os.path.join(self._folder, entry["files"][name])
                    value = read_safetensors(path, one["tensor_key"])[0].to(device)
                    if entry["permuted"] and (value.is_floating_point() or spec["dtype"] in FP8):
                        value = _permuted(value)
                else:
                    sizes = [entry["axes"][axis] for axis in spec["shape"]]
                    value = random_tensor(sizes, spec["dtype"], device)
                    if name == "probs" and self.definition.get("op_type") == "sampling":
                        value = torch.softmax(value, dim=-1)
                tensors[name] = value
            return tensors

    def reference(self, shape, device, tensors):
        entry = self._entry(shape)
        scalars = self.scalars(entry)
        values = []
        for name, spec in self.definition["inputs"].items():
            if spec["shape"] is None:
                values.append(scalars[name])
                continue
            values.append(tensors[name])
        with OnDevice(device):
            return self.module.run(*values)


KINDS = {
    "kernelbench": KernelBench,
    "atrex": Atrex,
    "flashinfer-bench": FlashInfer,
    "sol-execbench": FlashInfer,
}


def plain(tensor):
    """Detached and contiguous; fp8 as its codes, since arenas of references hold codes."""
    tensor = tensor.detach()
    if NAMES.get(tensor.dtype, "").startswith("f8"):
        tensor = tensor.view(torch.uint8)
    return tensor.contiguous()


def _native(tensor, torch_name):
    """fp8 codes with PyTorch's type, as the original files expect them."""
    return tensor.view(getattr(torch, torch_name)) if hasattr(torch, torch_name) else tensor


def functions(origin, about):
    """inputs() and reference() of an operator: `origin` of KINDS, `about` what import.json says."""
    renamed = about["renamed"]  # ours -> theirs, where a name could not be kept

    def inputs(shape, seed, regime, device):
        # A problem has one distribution; Roofmark's regimes only change the seed here.
        seed_all(seed * 31 + sum(regime.encode()))
        drawn = origin.inputs(shape, device)
        return {name: plain(drawn[renamed.get(name, name)].to(device)) for name in about["inputs"]}

    def reference(shape, **tensors):
        device = next(iter(tensors.values())).device
        if about["writes_inputs"]:
            tensors = {name: tensor.clone() for name, tensor in tensors.items()}
        theirs = {
            renamed.get(name, name): _native(tensor, about["fp8"][name])
            if name in about["fp8"]
            else tensor
            for name, tensor in tensors.items()
        }
        values, names = leaves(origin.reference(shape, device, theirs))
        if names is not None:
            values = [dict(zip(names, values))[one] for one in about["output_names"]]
        return {name: plain(value) for name, value in zip(about["outputs"], values)}

    return inputs, reference


def load(folder):
    """The two functions of a reference.py, for the imported operator in this folder."""
    with open(os.path.join(folder, "import.json"), encoding="utf-8") as file:
        about = json.load(file)
    return functions(KINDS[about["kind"]](os.path.join(folder, "origin"), about), about)
