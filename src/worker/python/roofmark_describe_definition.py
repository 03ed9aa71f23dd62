# SPDX-License-Identifier: Apache-2.0
"""Describes definitions with workloads (FlashInfer-Bench, SOL-ExecBench) and their solutions."""

import ast
import json
import operator
import os
import re

import torch

from roofmark_describe import (
    TRIAL_BYTES,
    Names,
    NotCarried,
    dtype_bytes,
    no_work,
    note,
    operator_name,
    size_text,
    tolerance,
    traffic,
    try_out,
)
from roofmark_ref import imported

_DTYPES = {
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3": "f8_e4m3fn",
    "float8_e4m3fn": "f8_e4m3fn",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
}
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
# Recorded tensors are put into a new order only where that makes enough orders.
_LEAST_ROWS = 8


def _evaluate(node, axes):
    if isinstance(node, ast.Expression):
        return _evaluate(node.body, axes)
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return node.value
    if isinstance(node, ast.Name) and node.id in axes:
        return axes[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _evaluate(node.operand, axes)
        return -value if isinstance(node.op, ast.USub) else value
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        return _BINARY[type(node.op)](_evaluate(node.left, axes), _evaluate(node.right, axes))
    raise NotCarried("an axis has an expression that is no arithmetic over known axes")


def _resolve_axes(definition, given):
    axes, later = {}, []
    for name, spec in definition["axes"].items():
        if spec["type"] == "const":
            axes[name] = spec["value"]
        elif spec["type"] == "var":
            if not isinstance(given.get(name), int) or given[name] < 0:
                raise NotCarried("axis %s has no size" % name)
            axes[name] = given[name]
        else:
            later.append((name, spec["expression"]))
    for name, text in later:
        value = _evaluate(ast.parse(text, mode="eval"), axes)
        if value != int(value) or value < 0:
            raise NotCarried("axis %s = %s is no size" % (name, value))
        axes[name] = int(value)
    return axes


def _tensor(ours, theirs, spec, axis_names, what):
    if spec["dtype"] not in _DTYPES:
        raise NotCarried(
            "%s %s has dtype %s, which Roofmark has no comparison for"
            % (what, theirs, spec["dtype"])
        )
    unknown = [axis for axis in spec["shape"] if axis not in axis_names]
    if unknown:
        raise NotCarried("%s %s has the undefined axis %s" % (what, theirs, unknown[0]))
    sizes = [axis_names[axis] for axis in spec["shape"]]
    return {"name": ours, "dtype": _DTYPES[spec["dtype"]], "sizes": sizes}


class _Definition:
    """Their names and ours, and the tensors of the card."""

    def __init__(self, definition, label):
        self.content, self.label, self.notes = definition, label, []
        names = Names()
        take = self._take(names)
        self.inputs = {name: take(name, "input") for name in definition["inputs"]}
        self.outputs = {name: take(name, "output") for name in definition["outputs"]}
        axes = {name: take(name, "axis") for name in definition["axes"]}
        self.axes = axes
        for name, spec in definition["outputs"].items():
            if spec["shape"] is None:
                raise NotCarried("output %s is a Python number, no tensor" % name)
        self.scalars = [n for n, spec in definition["inputs"].items() if spec["shape"] is None]
        tensors = [n for n, spec in definition["inputs"].items() if spec["shape"] is not None]
        if not tensors:
            raise NotCarried("it has no input tensor")
        self.input_tensors = [
            _tensor(self.inputs[n], n, definition["inputs"][n], axes, "input") for n in tensors
        ]
        self.output_tensors = [
            _tensor(self.outputs[n], n, spec, axes, "output")
            for n, spec in definition["outputs"].items()
        ]

    def _take(self, names):
        def take(theirs, what):
            ours = names.take(theirs)
            if ours != theirs:
                text = "%s %s is called %s, since cards cannot have that name (twice)"
                self.notes.append(note(self.label, "changed", text % (what, theirs, ours)))
            return ours

        return take


class _Workloads:
    """Those workloads that can be carried."""

    def __init__(self, root, found, definition):
        self._root, self._definition = root, definition
        self.entries, self.shapes, self.copy, self.notes = [], [], [], []
        self.sizes, self._ids = [], set()
        for one in found:
            workload = one["line"]["workload"]
            item = "%s workload %s" % (definition.label, workload.get("uuid", "without uuid"))
            try:
                self._add(one, workload, item)
            except NotCarried as error:
                self.notes.append(note(item, "not_carried", str(error)))

    def _add(self, one, workload, item):
        content = self._definition.content
        axes = _resolve_axes(content, workload.get("axes") or {})
        given = workload.setdefault("inputs", {})
        kinds = {name: (given.get(name) or {"type": "random"})["type"] for name in
                 content["inputs"]}  # fmt: skip
        custom = "custom" in kinds.values()
        if custom and not content.get("custom_inputs_entrypoint"):
            raise NotCarried("its inputs are custom, and no custom_inputs_entrypoint is defined")
        entry = {"workload": workload, "axes": axes, "custom": custom, "files": {},
                 "permuted": False}  # fmt: skip
        for name in self._definition.scalars:
            if not isinstance((given.get(name) or {}).get("value"), (int, float)):
                raise NotCarried("the number %s has no value" % name)
        recorded = [name for name, kind in kinds.items() if kind == "safetensors"]
        for name in recorded:
            entry["files"][name] = self._keep(one["file"], given[name], name, axes)
        if not custom and len(recorded) == len(self._definition.input_tensors):
            self._permute(entry, recorded, axes, item)
        values = {self._definition.axes[name]: size for name, size in axes.items()}
        values["case"] = len(self.entries)
        for name in self._definition.scalars:
            values[self._definition.inputs[name]] = given[name]["value"] + 0
        self.entries.append(entry)
        self.shapes.append({"id": self._id(workload), "axes": values})
        self.sizes.append(sum(self._bytes(spec, axes) for spec in content["inputs"].values()))

    def _bytes(self, spec, axes):
        if spec["shape"] is None:
            return 0
        size = dtype_bytes(_DTYPES[spec["dtype"]])
        for axis in spec["shape"]:
            size *= axes[axis]
        return size

    def _id(self, workload):
        base = re.sub(r"[^A-Za-z0-9._-]+", "-", str(workload.get("uuid") or len(self.entries)))
        name, number = base, 1
        while name in self._ids:
            number += 1
            name = "%s-%d" % (base, number)
        self._ids.add(name)
        return name

    def _keep(self, beside, spec, name, axes):
        """Finds a recorded tensor, checks it, and has its file kept; returns where."""
        path = self._find(spec["path"], beside)
        tensor, float8 = imported.read_safetensors(os.path.join(self._root, path),
                                                   spec["tensor_key"])  # fmt: skip
        declared = self._definition.content["inputs"][name]
        want = [axes[axis] for axis in declared["shape"]]
        dtype = imported.FP8[float8] if float8 else imported.NAMES[tensor.dtype]
        if list(tensor.shape) != want or dtype != _DTYPES[declared["dtype"]]:
            raise NotCarried("%s: %s is %s %s where %s %s is declared" % (
                path, spec["tensor_key"], dtype, list(tensor.shape),
                _DTYPES[declared["dtype"]], want))  # fmt: skip
        for source, target in self.copy:
            if source == path:
                return target
        target = "blobs/%d-%s" % (len(self.copy), os.path.basename(path))
        self.copy.append([path, target])
        return target

    def _find(self, path, beside):
        folder = os.path.dirname(beside)
        while not os.path.isabs(path):
            found = os.path.normpath(os.path.join(folder, path))
            if not found.startswith("..") and os.path.isfile(os.path.join(self._root, found)):
                return found
            if not folder:
                break
            folder = os.path.dirname(folder)
        raise NotCarried("%s is not in this folder" % path)

    def _permute(self, entry, recorded, axes, item):
        """All inputs are recorded: an answer kept from an earlier call would be right for ever."""
        rows = [
            next((axes[a] for a in spec["shape"] if axes[a] > 1), 1)
            for name, spec in self._definition.content["inputs"].items()
            if name in recorded and _DTYPES[spec["dtype"]][0] in "bf"
        ]
        if max(rows, default=0) < _LEAST_ROWS:
            raise NotCarried(
                "all its inputs are recorded and no floating-point one has %d rows to reorder: an "
                "answer kept from an earlier call could not be told from a computed one"
                % _LEAST_ROWS
            )
        entry["permuted"] = True
        what = (
            "all its inputs are recorded; rows of floating-point ones are reordered for each call, "
            "so that a repeated answer shows"
        )
        self.notes.append(note(item, "changed", what))


def _bounds(found):
    """The strictest tolerance that the workloads state, and whether some may be missed."""
    bounds, ratio = {"rtol": 1e-2, "atol": 1e-2}, False
    for key in bounds:
        stated = []
        for one in found:
            for name, value in (one["line"]["workload"].get("tolerance") or {}).items():
                if key in name and isinstance(value, (int, float)) and 0 < value <= 1:
                    stated.append(value)
                ratio = ratio or ("ratio" in name and value != 1)
        bounds[key] = min(stated) if stated else bounds[key]
    return bounds["rtol"], bounds["atol"], ratio


def _trial(definition, workloads, about, item, root, notes):
    at = min(range(len(workloads.sizes)), key=workloads.sizes.__getitem__)
    needs_fp8 = about["fp8"] and not hasattr(torch, "float8_e4m3fn")
    if workloads.sizes[at] > TRIAL_BYTES or needs_fp8:
        why = (
            "this PyTorch has no fp8"
            if needs_fp8
            else "its smallest inputs have %s" % size_text(workloads.sizes[at])
        )
        notes.append(note(definition.label, "changed", "carried without a trial run: " + why))
        return
    targets = {target: source for source, target in workloads.copy}
    here = dict(about, files=item["files"], workloads=[
        dict(entry, files={name: targets[path] for name, path in entry["files"].items()})
        for entry in workloads.entries])  # fmt: skip
    origin = imported.FlashInfer(root, here)
    with torch.no_grad():
        try_out(origin, here, workloads.shapes[at]["axes"], definition.output_tensors)
    about["writes_inputs"] = here["writes_inputs"]
    if about["writes_inputs"]:
        what = "its reference writes its inputs; the judge clones them, and candidates may not"
        notes.append(note(definition.label, "changed", what))


def _about(definition, kind, entries):
    theirs = definition.content
    names = dict(definition.inputs, **definition.outputs)
    return {
        "kind": kind,
        "files": {"definition": "definition.json"},
        "definition": theirs["name"],
        "order": [
            {
                "name": definition.inputs[name],
                "number": spec["dtype"] if spec["shape"] is None else "",
            }
            for name, spec in theirs["inputs"].items()
        ],
        "inputs": [one["name"] for one in definition.input_tensors],
        "outputs": [one["name"] for one in definition.output_tensors],
        "output_names": list(theirs["outputs"]),
        "renamed": {ours: name for name, ours in names.items() if ours != name},
        "fp8": {one["name"]: "float8_e4m3fn" for one in definition.input_tensors
                if one["dtype"].startswith("f8")},
        "writes_inputs": False,
        "workloads": entries,
    }  # fmt: skip


def describe_definition(root, item):
    with open(os.path.join(root, item["files"]["definition"]), encoding="utf-8") as file:
        content = json.load(file)
    label = str(content.get("name"))
    definition = _Definition(content, label)
    workloads = _Workloads(root, item["workloads"], definition)
    notes = definition.notes + workloads.notes
    if not workloads.shapes:
        why = workloads.notes[0]["what"] if workloads.notes else "there is none"
        raise NotCarried("none of its %d workloads is carried: %s" % (len(item["workloads"]), why))
    about = _about(definition, item["kind"], workloads.entries)
    _trial(definition, workloads, about, item, root, notes)
    notes.append(no_work(label))
    rtol, atol, ratio = _bounds(item["workloads"])
    notes.append(note(label, "changed", "value regimes only change the seed; a bound of %g counts "
                      "relative to the output's rms, and every element must keep it" % atol
                      + (" (the matched ratio is not carried)" if ratio else "")))  # fmt: skip
    for text in content.get("constraints") or []:
        notes.append(note(label, "not_carried", "constraint '%s': workloads fix the axes" % text))
    attributes = {
        definition.inputs[name]: workloads.shapes[0]["axes"][definition.inputs[name]]
        for name in definition.scalars
    }
    card = {
        "name": operator_name(label),
        "summary": content.get("description") or "%s of %s" % (content.get("op_type"), label),
        "source": "%s definition %s; imported" % (
            "SOL-ExecBench" if item["kind"] == "sol-execbench" else "FlashInfer-Bench", label),
        "axes": ["case"] + list(definition.axes.values()),
        "attributes": attributes,
        "inputs": definition.input_tensors,
        "outputs": definition.output_tensors,
        "tolerance": {
            one["name"]: tolerance(one["dtype"], rtol, atol) for one in definition.output_tensors
        },
    }  # fmt: skip
    card["traffic"] = traffic(card, 0)
    baseline = {
        "name": "reference",
        "definition": label,
        "spec": {"language": "python", "entry_point": "reference.py::run",
                 "destination_passing_style": False},
        "sources": [{"path": "reference.py", "content": content["reference"]}],
        "clones_inputs": about["writes_inputs"],
    }  # fmt: skip
    return {"card": card, "about": about, "shapes": workloads.shapes,
            "copy": [[item["files"]["definition"], "definition.json"]] + workloads.copy,
            "baseline": {"solution": baseline}, "notes": notes}  # fmt: skip


# Solutions --------------------------------------------------------------------------------------

_ADAPTER = '''# Written by `roofmark suite import`: calls %(entry)s as its own benchmark does, with
# arguments by position.
import importlib.util
import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
sys.path.append(_folder)
%(load)s
_entry = getattr(_module, %(function)r)


def run(%(parameters)s):
    return _entry(%(arguments)s)
'''

_LOAD_PYTHON = '''_path = os.path.join(_folder, %(file)r)
sys.path.append(os.path.dirname(_path))
_spec = importlib.util.spec_from_file_location("solution_entry", _path)
_module = importlib.util.module_from_spec(_spec)
sys.modules["solution_entry"] = _module
_spec.loader.exec_module(_module)'''

_LOAD_EXTENSION = '''from torch.utils.cpp_extension import load

_module = load(
    name="solution_extension",
    sources=[os.path.join(_folder, name) for name in %(sources)r],
    extra_cflags=%(cflags)r,
    extra_cuda_cflags=%(cuda_cflags)r,
    extra_ldflags=%(ldflags)r,
)'''


def _loader(spec, sources, languages):
    file = spec["entry_point"].partition("::")[0]
    if file.endswith(".py"):
        return _LOAD_PYTHON % {"file": file}
    if spec.get("binding") != "torch":
        raise NotCarried(
            "%s with the binding %s: only PyTorch extensions and Python run here"
            % ("/".join(languages), spec.get("binding") or "tvm-ffi (the default)")
        )
    options = spec.get("compile_options") or {}
    compiled = [one["path"] for one in sources
                if one["path"].endswith((".cu", ".cc", ".cpp", ".cxx", ".c"))]  # fmt: skip
    return _LOAD_EXTENSION % {
        "sources": compiled,
        "cflags": list(options.get("cflags") or []),
        "cuda_cflags": list(options.get("cuda_cflags") or []),
        "ldflags": list(options.get("ld_flags") or []),
    }


def describe_solution(solution, about):
    """The files of a candidate folder; `about` is the operator's import.json."""
    spec, sources = solution["spec"], solution["sources"]
    label = "solution %s" % solution["name"]
    languages = spec.get("languages") or [spec.get("language", "python")]
    file, _, function = spec["entry_point"].partition("::")
    if not function or all(one["path"] != file for one in sources):
        raise NotCarried("its entry point %s is in none of its sources" % spec["entry_point"])
    if any(one["path"] == "roofmark_entry.py" for one in sources):
        raise NotCarried("a source is called roofmark_entry.py, the name of the adapter")
    passing = spec.get("destination_passing_style", True)
    casts = {True: "bool(%s)", False: "int(%s)"}
    arguments = []
    for one in about["order"]:
        number = one["number"]
        cast = "%s" if not number or "float" in number else casts[number == "bool"]
        arguments.append(cast % one["name"])
        if solution.get("clones_inputs") and not number:
            arguments[-1] += ".clone()"
    outputs = list(about["outputs"]) if passing else []
    adapter = _ADAPTER % {
        "entry": spec["entry_point"],
        "load": _loader(spec, sources, languages),
        "function": function,
        "parameters": ", ".join([one["name"] for one in about["order"]] + outputs),
        "arguments": ", ".join(arguments + outputs),
    }
    notes = [note(label, "carried", "calls %s %s" % (
        spec["entry_point"], "with its destination" if passing else "for what it returns"))]
    if spec.get("dependencies"):
        what = "dependencies are not installed: %s" % ", ".join(map(str, spec["dependencies"]))
        notes.append(note(label, "not_carried", what))
    if spec.get("target_hardware"):
        what = "target_hardware is not enforced: %s" % ", ".join(map(str, spec["target_hardware"]))
        notes.append(note(label, "not_carried", what))
    return {
        "name": operator_name(solution["name"]),
        "lane": "triton" if "triton" in languages else "torch",
        "files": [{"path": "roofmark_entry.py", "content": adapter}] + [
            {"path": one["path"], "content": one["content"]} for one in sources],
        "notes": notes,
    }  # fmt: skip
