# SPDX-License-Identifier: Apache-2.0
"""What all formats share when they are described: names, cards, and the trial of an operator."""

import re

import torch

from roofmark_ref import imported

# Inputs up to this size are drawn and computed for real at import; larger ones only by shape.
TRIAL_BYTES = 256 << 20
_RESERVED = {"ceil_div", "min", "max", "log2", "L", "M", "shape", "workspace", "case"}
_BYTES = {"f32": 4, "f16": 2, "bf16": 2, "i32": 4, "i64": 8, "u8": 1}


class NotCarried(Exception):
    """Ends an item; the text says why."""


def note(item, fate, what):
    return {"item": item, "fate": fate, "what": what}


def no_work(item, released=False):
    what = "the work W is not known, so the roofline is by traffic alone"
    if released:
        what += "; the released W and Q stay with the shapes (roofline --published)"
    return note(item, "not_carried", what)


def operator_name(text):
    name = re.sub(r"[^A-Za-z0-9_]+", "_", text).strip("_")
    return name if name and not name[0].isdigit() else "p_" + name


class Names:
    """Names that a card can have, each once; `renamed` maps ours to theirs where they differ."""

    def __init__(self):
        self._taken = set(_RESERVED)
        self.renamed = {}

    def take(self, theirs):
        name = re.sub(r"[^A-Za-z0-9_]+", "_", theirs) or "_"
        name = "_" + name if name[0].isdigit() else name
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        if name != theirs:
            self.renamed[name] = theirs
        return name


def dtype_of(tensor, what):
    if not isinstance(tensor, torch.Tensor):
        raise NotCarried("%s is a %s, no tensor" % (what, type(tensor).__name__))
    if tensor.dtype not in imported.NAMES:
        raise NotCarried("%s has dtype %s, which Roofmark has no comparison for"
                         % (what, str(tensor.dtype).replace("torch.", "")))
    return imported.NAMES[tensor.dtype]


def dtype_bytes(name):
    return 1 if name.startswith("f8") else _BYTES[name]


def tensor_bytes(tensor):
    return tensor.numel() * tensor.element_size()


def tolerance(dtype, rtol, atol):
    """The bounds of the other benchmark in our terms; model/operator.h says what ours mean."""
    if dtype in ("i32", "i64", "u8"):
        return {"kind": "exact"}
    if dtype.startswith("f8"):
        rtol = max(rtol, 0.125)  # one step between neighbours
    return {"kind": "numeric", "rtol": rtol, "atol_rms": atol, "rel_l2": max(rtol, atol)}


class Sizes:
    """Sizes of tensors over several shapes as expressions: what varies becomes an axis."""

    def __init__(self, names, known):
        """`known`: axes that have their values already, {name: [value of each shape]}."""
        self._names = names
        self.axes = dict(known)

    def expression(self, base, column):
        if len(set(column)) == 1:
            return column[0]
        for name, values in self.axes.items():
            if values == column:
                return name
        name = self._names.take(base)
        self.axes[name] = list(column)
        return name

    def tensor(self, name, specs):
        """`specs`: (dtype, sizes) of this tensor in each shape."""
        dtypes = {dtype for dtype, _ in specs}
        ranks = {len(sizes) for _, sizes in specs}
        if len(dtypes) > 1 or len(ranks) > 1:
            raise NotCarried("%s has several dtypes or ranks (%s); a card has one of each"
                             % (name, ", ".join(sorted(dtypes))))
        columns = zip(*(sizes for _, sizes in specs))
        sizes = [
            self.expression("%s_%d" % (name, at), list(column))
            for at, column in enumerate(columns)
        ]
        return {"name": name, "dtype": dtypes.pop(), "sizes": sizes}


def try_out(origin, about, shape, outputs):
    """Runs what the judge will run. Raises NotCarried where no judgement could rest on it; says in
    `about` whether the reference writes its inputs."""
    inputs, reference = imported.functions(origin, about)
    device = torch.device("cpu")
    first = inputs(shape, 1, "typical", device)
    kept = {name: tensor.clone() for name, tensor in first.items()}
    result = reference(shape, **{name: tensor.clone() for name, tensor in first.items()})
    again = reference(shape, **first)
    about["writes_inputs"] = any(not torch.equal(first[name], kept[name]) for name in first)
    for want in outputs:
        _check_output(want, result[want["name"]], again[want["name"]])
    drawn = inputs(shape, 2, "typical", device)
    if all(torch.equal(drawn[name], kept[name]) for name in drawn):
        raise NotCarried("its inputs have one value only, so that a cached answer would pass")
    other = reference(shape, **drawn)
    if all(torch.equal(result[name], other[name]) for name in other):
        raise NotCarried(
            "its output does not depend on the values of its inputs: a constant passes"
        )


def _check_output(want, value, again):
    name = want["name"]
    dtype = "u8" if want["dtype"].startswith("f8") else want["dtype"]
    if imported.NAMES.get(value.dtype) != dtype:
        raise NotCarried("%s is %s where %s is declared" % (name, value.dtype, want["dtype"]))
    if value.is_floating_point() and not bool(torch.isfinite(value).all()):
        raise NotCarried("%s has NaN or infinite elements, and there is no error of those" % name)
    if not torch.equal(value, again):
        raise NotCarried(
            "%s differs between two calls with equal inputs (dropout, or random numbers of its own)"
            % name
        )


def size_text(count):
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return "%.4g %s" % (count, unit)
        count /= 1024
    return "%.4g GiB" % count


def encode(value, what):
    """A constructor's argument as JSON; tuples stay tuples. NotCarried for what JSON has not."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        items = [encode(one, what) for one in value]
        return {"__tuple__": items} if isinstance(value, tuple) else items
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: encode(one, what) for key, one in value.items()}
    raise NotCarried("%s is a %s, which cannot be given to a candidate" % (what, type(value)))


def traffic(card, parameter_bytes):
    """Every input and parameter read once, every output written once; expressions over axes."""

    def product(tensor):
        factors = [dtype_bytes(tensor["dtype"])] + list(tensor["sizes"])
        return "*".join(str(factor) for factor in factors)

    read = [product(tensor) for tensor in card["inputs"]]
    if parameter_bytes:
        read.append(str(parameter_bytes))
    write = [product(tensor) for tensor in card["outputs"]]
    return {
        "read": " + ".join(read),
        "write": " + ".join(write),
        "source": "every input%s read once, every output written once; the import knows no work, "
        "so the roofline is by traffic alone" % (" and parameter" if parameter_bytes else ""),
    }
