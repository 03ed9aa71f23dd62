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
OPERATORS = ("rms_norm", "silu_and_mul", "block_scaled_mm", "unified_attention")
REGIMES = ("typical", "heavy_tail", "offset")
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
    }
    return eval(text, {"__builtins__": {}}, {**functions, **names})


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
        return {**names, **self.card["attributes"]}

    def sizes(self, tensor, names):
        return [int(evaluate(text, names)) for text in tensor["shape"]]

    def integers(self):
        """The native struct's int64 fields, in order."""
        axes = [axis for axis, kind in self.card["axes"].items() if kind == "int"]
        return axes + list(self.card["derived"])

    def compare(self, got, want):
        """(worst element, L2 error), each relative to its bound: above 1 is refused; and the L2
        error itself."""
        worst, relative, error = 0.0, 0.0, 0.0
        for name, bound in self.card["tolerance"].items():
            g, w = got[name], want[name]
            rms = _root_mean_square(w)
            squares = 0.0
            for rows in _pieces(w):
                expected = w[rows].float()
                difference = (g[rows].float() - expected).abs()
                if not bool(torch.isfinite(difference).all()):
                    return math.inf, math.inf, math.inf
                limit = bound["rtol"] * expected.abs() + bound["atol_rms"] * rms
                worst = max(worst, float((difference / limit).max()))
                squares += float(difference.double().pow(2).sum())
            error = max(error, (squares / w.numel()) ** 0.5 / rms)
            relative = max(relative, (squares / w.numel()) ** 0.5 / rms / bound["rel_l2"])
        return worst, relative, error


def _pieces(tensor):
    step = max(1, _PIECE // max(1, tensor[0].numel()))
    return (slice(row, row + step) for row in range(0, tensor.shape[0], step))


def _root_mean_square(tensor):
    squares = sum(float(tensor[rows].double().pow(2).sum()) for rows in _pieces(tensor))
    return (squares / tensor.numel()) ** 0.5
