# SPDX-License-Identifier: Apache-2.0
"""Describes problems that are Python programs: KernelBench files and Atrex-Bench directories."""

import inspect
import json
import os

import torch

from roofmark_describe import (
    TRIAL_BYTES,
    Names,
    NotCarried,
    Sizes,
    dtype_of,
    encode,
    no_work,
    note,
    operator_name,
    size_text,
    tensor_bytes,
    tolerance,
    traffic,
    try_out,
)
from roofmark_ref import imported

_META, _CPU = torch.device("meta"), torch.device("cpu")
# Looking at values would need their memory.
torch.distributions.Distribution.set_default_validate_args(False)
_REGIMES = "Roofmark's value regimes only change the seed; the problem's own distribution is used"


def _bytes_of(values):
    return sum(tensor_bytes(one) for one in values if isinstance(one, torch.Tensor))


def _draw(origin, shape):
    """The inputs, without their memory where that works."""
    imported.seed_all(1)
    try:
        return origin.draw(shape, _META)
    except Exception:  # what depends on values, or has no meta kernel
        imported.seed_all(1)
        return origin.draw(shape, _CPU)


def _outputs(origin, shape, drawn, values_of):
    """The output tensors of a call (maybe without memory) and their names or None."""
    try:
        moved = values_of(lambda one: one.to(_META) if isinstance(one, torch.Tensor) else one)
        return imported.leaves(origin.compute(shape, _META, moved))
    except Exception as error:
        size = _bytes_of(drawn)
        if size > TRIAL_BYTES:
            raise NotCarried(
                "the shapes of its outputs are known only by running it, and its inputs have %s"
                % size_text(size)
            ) from error
    imported.seed_all(1)
    real = origin.draw(shape, _CPU)
    return imported.leaves(origin.compute(shape, _CPU, real))


def _name_outputs(names, given, count, metadata=()):
    theirs = given or (list(metadata) if len(metadata) == count else None)
    if theirs is None:
        theirs = ["out"] if count == 1 else ["out%d" % at for at in range(count)]
    return [names.take(one) for one in theirs]


def _json_or_none(root, path):
    if path is None:
        return None
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return json.load(file)


def _about(kind, files, inputs, outputs, names, output_names):
    return {
        "kind": kind,
        "files": files,
        "inputs": [one["name"] for one in inputs],
        "outputs": [one["name"] for one in outputs],
        "output_names": output_names,
        "renamed": {ours: theirs for ours, theirs in names.renamed.items()
                    if ours in [one["name"] for one in inputs]},
        "fp8": {one["name"]: theirs for one in inputs
                for theirs, ours in imported.FP8.items() if ours == one["dtype"]},
        "writes_inputs": False,
    }  # fmt: skip


def _trial(origin, about, shape, outputs, size, item, notes):
    if size > TRIAL_BYTES:
        what = "carried without a trial run: its smallest inputs have %s" % size_text(size)
        notes.append(note(item, "changed", what))
        return
    try_out(origin, about, shape, outputs)
    if about["writes_inputs"]:
        what = "its reference writes its inputs; the judge clones them, and candidates may not"
        notes.append(note(item, "changed", what))


# KernelBench ------------------------------------------------------------------------------------


def _kernelbench_call(origin, drawn, names, item, notes):
    """forward()'s arguments in order: {"input": name} or {"value": constant}."""
    parameters = [
        one.name
        for one in list(inspect.signature(origin.module.Model.forward).parameters.values())[1:]
        if one.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    ]
    call = []
    for at, value in enumerate(drawn):
        theirs = parameters[at] if at < len(parameters) else "input%d" % at
        if not isinstance(value, torch.Tensor):
            call.append({"value": encode(value, "input %s" % theirs)})
            continue
        dtype_of(value, "input %s" % theirs)
        call.append({"input": names.take(theirs)})
        if not value.is_contiguous():
            what = "%s is given contiguous; get_inputs() makes a view of it" % theirs
            notes.append(note(item, "changed", what))
    if not any("input" in one for one in call):
        raise NotCarried("get_inputs() returns no tensor")
    return call


def _parameters(model):
    if not isinstance(model, torch.nn.Module):
        return 0, 0
    tensors = list(model.parameters()) + list(model.buffers())
    return len(tensors), sum(tensor_bytes(one) for one in tensors)


def describe_kernelbench(root, item):
    path, label = item["files"]["problem"], item["item"]
    notes, names = [note(label, "changed", _REGIMES), no_work(label)], Names()
    with torch.no_grad():
        origin = imported.KernelBench(root, {"files": item["files"]})
        args, kwargs = origin.init_arguments()
        construct = {
            "args": [encode(one, "an argument of Model()") for one in args],
            "kwargs": {key: encode(one, "Model(%s=)" % key) for key, one in kwargs.items()},
            "seed": imported.CONSTRUCT_SEED,
            "training": True,
        }
        drawn = _draw(origin, {})
        call = construct["call"] = _kernelbench_call(origin, drawn, names, label, notes)
        count, parameter_bytes = _parameters(origin.model(_CPU))
        values, given = _outputs(origin, {}, drawn, lambda move: [move(one) for one in drawn])
        inputs = [
            {"name": one["input"], "dtype": dtype_of(value, one["input"]),
             "sizes": list(value.shape)}
            for one, value in zip(call, drawn) if "input" in one
        ]  # fmt: skip
        output_names = _name_outputs(names, given, len(values))
        outputs = [
            {"name": name, "dtype": dtype_of(value, "output " + name), "sizes": list(value.shape)}
            for name, value in zip(output_names, values)
        ]
        names.renamed.clear()  # calls are by position
        about = _about("kernelbench", {"problem": "problem.py"}, inputs, outputs, names, given)
        about["call"] = origin._call = call
        size = _bytes_of(drawn) + parameter_bytes
        _trial(origin, about, {}, outputs, size, label, notes)
    if count:
        what = (
            "%d parameters and buffers (%s): built from seed %d in the reference and in each "
            "candidate, as KernelBench does; their values are no secret"
            % (count, size_text(parameter_bytes), imported.CONSTRUCT_SEED)
        )
        notes.append(note(label, "changed", what))
    folder, file = os.path.split(path)
    level = os.path.basename(folder) or item["name"]
    stem = ("%s_" % level if level.startswith("level") else "") + file[: -len(".py")]
    card = {
        "name": operator_name(stem),
        "summary": "KernelBench problem %s" % path,
        "source": "KernelBench problem file %s; imported" % path,
        "axes": [],
        "attributes": {},
        "inputs": inputs,
        "outputs": outputs,
        "tolerance": {
            one["name"]: tolerance(one["dtype"], *_kernelbench_bounds(one["dtype"]))
            for one in outputs
        },
    }
    card["traffic"] = traffic(card, parameter_bytes)
    shapes = [{"id": "0", "axes": {}, "construct": construct}]
    return {"card": card, "about": about, "shapes": shapes, "copy": [[path, "problem.py"]],
            "baseline": {"file": path, "entry": "Model"}, "notes": notes}  # fmt: skip


def _kernelbench_bounds(dtype):
    return (1e-4, 1e-4) if dtype == "f32" else (1e-2, 1e-2)


# Atrex-Bench ------------------------------------------------------------------------------------


class _AtrexShape:
    def __init__(self, case, name, spec):
        self.case, self.name = case, name
        self.init = spec.get("init_kwargs") or {}
        self.scalars = dict(self.init, **(spec.get("input_kwargs") or {}))
        self.inputs = self.outputs = None  # [(name, dtype, sizes)]
        self.size = 0


def _atrex_shapes(origin, label, notes):
    """Those shapes that can be carried, with the tensors of each."""
    shapes, given = [], None
    for case, (name, spec) in enumerate(origin.shapes):
        shape = _AtrexShape(case, name, spec)
        item = "%s shape %s" % (label, name)
        try:
            drawn = _draw(origin, {"case": case})
            values = list(drawn.values())
            shape.size = _bytes_of(values)
            shape.inputs = [
                (key, dtype_of(value, "input " + key), list(value.shape))
                for key, value in drawn.items()
            ]
            out, given = _outputs(
                origin, {"case": case}, values,
                lambda move: {key: move(value) for key, value in drawn.items()},  # noqa: B023
            )  # fmt: skip
            shape.outputs = [
                (None, dtype_of(value, "an output"), list(value.shape)) for value in out
            ]
        except NotCarried as error:
            notes.append(note(item, "not_carried", str(error)))
            continue
        except Exception as error:
            what = "%s: %s" % (type(error).__name__, str(error)[:500])
            notes.append(note(item, "not_carried", what))
            continue
        shapes.append(shape)
    if not shapes:
        raise NotCarried("none of its shapes could be drawn")
    return shapes, given


def _atrex_scalars(shapes, names):
    """Whole numbers that every shape has become axes, other numbers attributes."""
    axes, attributes, per_shape = {}, {}, [{} for _ in shapes]
    for theirs in shapes[0].scalars:
        values = [shape.scalars.get(theirs) for shape in shapes]
        if any(isinstance(one, bool) or not isinstance(one, (int, float)) for one in values):
            continue
        ours = names.take(theirs)
        if all(isinstance(one, int) and one >= 0 for one in values):
            axes[ours] = values
        else:
            attributes[ours] = values[0]
            for at, value in enumerate(values):
                per_shape[at][ours] = value
    return axes, attributes, per_shape


def _published(shape, roofline, metadata):
    """The released figures of a shape, or None where there are none."""
    figures = ((roofline or {}).get("shapes") or {}).get(shape.name)
    if figures is None:
        return None
    about = ((metadata or {}).get("shapes") or {}).get(shape.name) or {}
    found = {
        "w_flops": figures["semantic_W_flops"],
        "q_read": figures["semantic_Q_read_bytes"],
        "q_write": figures["semantic_Q_write_bytes"],
        "sol_us": {key: 1e3 * ms for key, ms in (figures.get("SOL_time_ms") or {}).items()},
    }
    production = about.get("production_performance") or {}
    if "performance_us" in production:
        production = {"unstated": production}
    if production:
        found["prod_us"] = {key: one["performance_us"] for key, one in production.items()}
    for key in ("call_count", "total_duration_us"):
        if key in about:
            found[key] = about[key]
    return found


def _columns(shapes, which):
    return list(zip(*(getattr(shape, which) for shape in shapes)))


def describe_atrex(root, item):
    label, files = item["item"], item["files"]
    notes, names = [note(label, "changed", _REGIMES)], Names()
    roofline = _json_or_none(root, files.get("roofline.json"))
    notes.append(no_work(label, roofline is not None))
    metadata = _json_or_none(root, files.get("metadata.json"))
    here = {key[: key.index(".")]: path for key, path in files.items()}
    with torch.no_grad():
        origin = imported.Atrex(root, {"files": here})
        shapes, given = _atrex_shapes(origin, label, notes)
        input_names = [names.take(one[0]) for one in shapes[0].inputs]
        stated = (metadata or {}).get("output_dtypes") or {}
        output_names = _name_outputs(names, given, len(shapes[0].outputs), list(stated))
        axes, attributes, per_shape = _atrex_scalars(shapes, names)
        sizes = Sizes(names, axes)
        inputs, outputs = (
            [
                sizes.tensor(name, [(one[1], one[2]) for one in column])
                for name, column in zip(ours, _columns(shapes, which))
            ]
            for ours, which in ((input_names, "inputs"), (output_names, "outputs"))
        )
        kept = {key: os.path.basename(path) for key, path in here.items()}
        about = _about("atrex", kept, inputs, outputs, names, given)
        least = min(shapes, key=lambda shape: shape.size)
        _trial(origin, about, {"case": least.case}, outputs, least.size, label, notes)
    card = {
        "name": operator_name(os.path.basename(label) if label != "." else item["name"]),
        "summary": "Atrex-Bench operator %s" % ((metadata or {}).get("id") or label),
        "source": "Atrex-Bench operator directory %s; imported" % label,
        "axes": ["case"] + list(sizes.axes),
        "attributes": attributes,
        "inputs": inputs,
        "outputs": outputs,
        "tolerance": {one["name"]: tolerance(one["dtype"], 5e-2, 1e-2) for one in outputs},
    }  # fmt: skip
    card["traffic"] = traffic(card, 0)
    _atrex_weight(card, metadata, label, notes)
    described = []
    for at, shape in enumerate(shapes):
        values = {"case": shape.case}
        values.update({name: column[at] for name, column in sizes.axes.items()})
        values.update(per_shape[at])
        one = {"id": shape.name, "axes": values,
               "construct": {"args": [], "kwargs": encode(shape.init, "init_kwargs"),
                             "seed": imported.CONSTRUCT_SEED}}  # fmt: skip
        published = _published(shape, roofline, metadata)
        if published is not None:
            one["published"] = published
        described.append(one)
    return {"card": card, "about": about, "shapes": described,
            "copy": [[path, os.path.basename(path)] for path in here.values()],
            "baseline": {"file": here["reference"], "entry": "Model"}, "notes": notes}  # fmt: skip


def _atrex_weight(card, metadata, label, notes):
    weight = (metadata or {}).get("importance_score")
    if isinstance(weight, (int, float)) and 0 <= weight <= 1:
        card["weight_published"] = weight
    else:
        notes.append(note(label, "not_carried", "no importance_score: it counts like any other"))
