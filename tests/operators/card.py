# SPDX-License-Identifier: Apache-2.0
"""Reads operator cards in Python, for the tests of this folder and for candidates/selftest.py.

The project's own reader is C++; this one is a second opinion on what a card says, and what lets an
operator's reference be tested with nothing but PyTorch.
"""

import importlib.util
import json
import math
import os
import sys
import tomllib

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
REGIMES = ("typical", "heavy_tail", "offset")
OPERATORS = tuple(
    name
    for name in sorted(os.listdir(os.path.join(ROOT, "operators")))
    if os.path.exists(os.path.join(ROOT, "operators", name, "operator.toml"))
)
DTYPES = {
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i32": torch.int32,
    "i64": torch.int64,
    "u8": torch.uint8,
    "f8_e4m3fn": torch.uint8,  # as codes
    "f8_e4m3fnuz": torch.uint8,
}
_PIECE = 1 << 27  # elements compared at a time
_WORKER_PYTHON = os.path.join(ROOT, "src", "worker", "python")
if _WORKER_PYTHON not in sys.path:
    sys.path.insert(0, _WORKER_PYTHON)


def load_module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def evaluate(text, names):
    """A card's expression over axes, derived values and attributes."""
    functions = {
        "ceil_div": lambda a, b: -(-int(a) // int(b)),
        "min": min,
        "max": max,
        "log2": math.log2,
        "ceil": math.ceil,
    }
    return eval(text.replace("^", "**"), {"__builtins__": {}}, {**functions, **names})


def expand(value):
    return (
        [v for v, count in value["rle"] for _ in range(count)] if isinstance(value, dict) else value
    )


class Operator:
    def __init__(self, name):
        folder = os.path.join(ROOT, "operators", name)
        with open(os.path.join(folder, "operator.toml"), "rb") as file:
            self.card = tomllib.load(file)
        with open(os.path.join(folder, "shapes.jsonl")) as file:
            self.shapes = {shape["id"]: shape for shape in map(json.loads, file)}
        self.name = name
        self.module = load_module("reference_of_" + name, os.path.join(folder, "reference.py"))

    def tier(self, tier):
        return [shape_id for shape_id, shape in self.shapes.items() if shape["tier"] == tier]

    def resolve(self, axes):
        """Axes (of a shape id, or given), derived values and attributes, by name."""
        if isinstance(axes, str):
            axes = self.shapes[axes]["axes"]
        names = {axis: expand(value) for axis, value in axes.items()}
        for name, rule in self.card["derived"].items():
            if isinstance(rule, str):
                names[name] = int(evaluate(rule, names))
                continue
            first = names[rule["over"]]
            second = names[rule.get("with", rule["over"])]
            values = [
                evaluate(rule["of"], {**names, "L": a, "M": b}) for a, b in zip(first, second)
            ]
            names[name] = int(max(values) if rule.get("take") == "max" else sum(values))
        # The judge passes attributes as floats, whatever they look like in the card.
        return {**names, **{k: float(v) for k, v in self.card["attributes"].items()}}

    def sizes(self, tensor, names):
        return [int(evaluate(text, names)) for text in tensor["shape"]]

    def integers(self):
        """The native struct's int64 fields, in order."""
        axes = [axis for axis, kind in self.card["axes"].items() if kind == "int"]
        return axes + list(self.card["derived"])

    def dtype(self, tensor, names):
        """The name of a tensor's element type, which the card may leave to the shape."""
        choice = tensor["dtype"]
        return choice if isinstance(choice, str) else choice["of"][names[choice["axis"]]]

    def in_place(self):
        return [t["name"] for t in self.card["outputs"] if t.get("in_place")]

    def compare(self, got, want, names=None):
        """(worst element, L2 error), each relative to its bound: above 1 is refused; and the L2
        error itself. Bounds that allow nothing give 0 or infinity."""
        worst, relative, error = 0.0, 0.0, 0.0
        for output in self.card["outputs"]:
            name = output["name"]
            bound, g, w = self.card["tolerance"][name], got[name], want[name]
            if g.shape != w.shape or g.dtype != w.dtype:
                return math.inf, math.inf, math.inf
            if bound["kind"] == "numeric":
                found = _compare_numeric(bound, g, w)
            elif bound["kind"] == "codes":
                found = _compare_codes(bound, g, w, self.dtype(output, names or {}))
            else:
                if bound["kind"] == "grouped":
                    g, w = _order_groups(bound, g, w, want)
                found = (0.0 if bool((g == w).all()) else math.inf,) * 2 + (0.0,)
            worst, relative = max(worst, found[0]), max(relative, found[1])
            error = max(error, found[2])
        return worst, relative, error


def _compare_numeric(bound, got, want):
    rms = _root_mean_square(want)
    worst, squares = 0.0, 0.0
    for rows in _pieces(want):
        expected = want[rows].float()
        difference = (got[rows].float() - expected).abs()
        if not bool(torch.isfinite(difference).all()):
            return math.inf, math.inf, math.inf
        limit = bound["rtol"] * expected.abs() + bound["atol_rms"] * rms
        ratio = torch.where(difference > 0, difference / limit, torch.zeros_like(difference))
        worst = max(worst, float(ratio.max()))
        squares += float(difference.double().pow(2).sum())
    if squares == 0:
        return worst, 0.0, 0.0
    error = (squares / want.numel()) ** 0.5 / rms if rms > 0 else math.inf
    return worst, (error / bound["rel_l2"] if bound["rel_l2"] > 0 else math.inf), error


def _compare_codes(bound, got, want, dtype):
    """fp8 codes: neighbours in the order of their values may make up a small share."""
    order = [torch.where(c >= 128, -(c.int() - 128), c.int()) for c in (got, want)]
    nan = got == 0x80 if dtype == "f8_e4m3fnuz" else got % 128 == 127
    distance = (order[0] - order[1]).abs()
    if bool(((distance > 1) | (nan & (got != want))).any()):
        return math.inf, 0.0, 0.0
    share = float((distance == 1).double().mean())
    if share == 0:
        return 0.0, 0.0, 0.0
    return (share / bound["code_slack"] if bound["code_slack"] > 0 else math.inf), 0.0, 0.0


def _order_groups(bound, got, want, outputs):
    """Both with the elements of each group sorted."""
    total = want.numel()
    if "offsets" in bound:
        inner = outputs[bound["offsets"]].long().flatten()
        edge = torch.zeros(total + 1, dtype=torch.int64, device=want.device)
        edge.scatter_add_(0, inner.clamp(0, total), torch.ones_like(inner))
        group = edge.cumsum(0)[:total]
    else:
        labels = outputs[bound["labels"]].flatten()
        change = torch.zeros_like(labels, dtype=torch.int64)
        change[1:] = (labels[1:] != labels[:-1]).long()
        group = change.cumsum(0).repeat_interleave(-(-total // labels.numel()))[:total]

    def ordered(tensor):
        flat = tensor.flatten().long()
        by_value = flat.argsort(stable=True)
        return flat[by_value[group[by_value].argsort(stable=True)]]

    return ordered(got), ordered(want)


def _pieces(tensor):
    step = max(1, _PIECE // max(1, tensor[0].numel()))
    return (slice(row, row + step) for row in range(0, tensor.shape[0], step))


def _root_mean_square(tensor):
    squares = sum(float(tensor[rows].double().pow(2).sum()) for rows in _pieces(tensor))
    return (squares / tensor.numel()) ** 0.5
