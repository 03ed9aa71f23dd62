# SPDX-License-Identifier: Apache-2.0
"""A worker for candidates in Python: functions that write to their destination, and Model classes
that return their outputs.
"""

import importlib.util
import inspect
import os
import random
import sys

import torch

import roofmark_static
from roofmark_apis import Listening
from roofmark_arenas import Arenas, Refusal, refusal_of
from roofmark_cpu import serve_bell

_CLASS_NAMES = ("ModelNew", "Model")


def _import(path):
    # A candidate called triton.py must not hide the package of that name: its folder is searched
    # last, and its module goes by a name of our own.
    sys.path.append(os.path.dirname(path))
    name = "roofmark_candidate_" + os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        raise refusal_of(error, "compile_error") from None
    return module


def _parameters(function, what):
    """The parameters that can be given by name, and whether each is required."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        reason = "%s has no signature that can be read" % what
        raise Refusal("bad_interface", reason) from None
    return [
        (p.name, p.default is inspect.Parameter.empty)
        for p in parameters
        if p.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]


def _pick(function, values, what):
    """Arguments by name, as many as the function names. An unknown required one is refused."""
    picked = {}
    for name, required in _parameters(function, what):
        if name in values:
            picked[name] = values[name]
        elif required:
            raise Refusal(
                "bad_interface",
                "%s has a parameter '%s'; the operator has %s"
                % (what, name, ", ".join(sorted(values))),
            )
    return picked


def _updated(contract):
    """The outputs that are updated in place: arguments that are no inputs."""
    return set(contract.get("arguments", ())) - set(contract["inputs"])


class _Function:
    """run(x, weight, out, eps): any subset of the names. A function that names no output, or only
    such as are updated in place, returns its outputs instead."""

    def __init__(self, function, contract):
        self._function = function
        self._contract = contract

    def init(self, shape, _construct, device):
        pass

    def bind(self, inputs, outputs, shape, workspace):
        """Returns a callable without arguments that makes the call and returns what finishes it."""
        values = {k: v for k, v in shape.items()}
        values.update(inputs)
        values.update(outputs)
        values["workspace"] = workspace
        values["shape"] = shape
        arguments = _pick(self._function, values, "run")
        function = self._function
        updated = _updated(self._contract)
        # Where everything is updated in place, naming any of it is naming an output.
        destinations = set(outputs) - updated or set(outputs)

        def call():
            function(**arguments)

        def returning():
            return _finish(function(**arguments), outputs, updated, inputs)

        return returning if destinations.isdisjoint(arguments) else call


def _decoded(value):
    """What the importer wrote of a constructor's argument: tuples are {"__tuple__": [...]}."""
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    if isinstance(value, dict):
        if set(value) == {"__tuple__"}:
            return tuple(_decoded(one) for one in value["__tuple__"])
        return {key: _decoded(one) for key, one in value.items()}
    return value


def _binds(cls, construct):
    try:
        inspect.signature(cls).bind(*construct["args"], **construct["kwargs"])
    except (TypeError, ValueError):
        return False
    return True


def _seed(construct):
    """Parameters of the reference and of a candidate are drawn from one seed."""
    if construct is not None:
        torch.manual_seed(construct["seed"])
        random.seed(construct["seed"])
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(construct["seed"])


class _Class:
    """class Model: constructor with attributes by name, or with what an imported problem gives
    (`construct`); forward with inputs, outputs returned."""

    def __init__(self, cls, module, contract):
        self._cls = cls
        self._module = module
        self._contract = contract
        self._model = None
        self._call = None

    def _construct(self, shape, construct):
        what = "%s()" % self._cls.__name__
        parameters = []
        if self._cls.__init__ is not object.__init__:
            parameters = _parameters(self._cls.__init__, what)[1:]
        if construct is not None and _binds(self._cls, construct):
            _seed(construct)
            return self._cls(*construct["args"], **construct["kwargs"])
        missing = [name for name, required in parameters if required and name not in shape]
        # Files made for KernelBench say what their constructor wants where names do not.
        if missing and callable(getattr(self._module, "get_init_inputs", None)):
            _seed(construct)
            arguments = self._module.get_init_inputs()
            _seed(construct)
            return self._cls(*arguments)
        if missing:
            raise Refusal(
                "bad_interface",
                "%s wants '%s'; it can have %s" % (what, missing[0], ", ".join(sorted(shape))),
            )
        _seed(construct)
        return self._cls(**{name: shape[name] for name, _ in parameters if name in shape})

    def init(self, shape, construct, device):
        self._call = (construct or {}).get("call")
        model = self._construct(shape, construct)
        if isinstance(model, torch.nn.Module):
            model = model.to(device.torch_device)
            model.train((construct or {}).get("training", False))
        if not callable(model):
            raise Refusal("bad_interface", "%s objects cannot be called" % self._cls.__name__)
        self._model = model

    def _arguments(self, inputs, outputs):
        # A tensor that is updated in place is an argument like the inputs, and lies in the outputs.
        order = self._contract.get("arguments", self._contract["inputs"])
        inputs = {name: inputs[name] if name in inputs else outputs[name] for name in order}
        if self._call is not None:
            return [inputs[c["input"]] if "input" in c else c["value"] for c in self._call], {}
        forward = getattr(self._model, "forward", self._model)
        names = _parameters(forward, "forward")
        if all(name in inputs or not required for name, required in names) and names:
            return [], {name: inputs[name] for name, _ in names if name in inputs}
        required = [name for name, needed in names if needed]
        if names and not len(required) <= len(inputs) <= len(names):
            raise Refusal(
                "bad_interface",
                "forward takes %d inputs; the operator has %d: %s"
                % (len(required), len(inputs), ", ".join(inputs)),
            )
        return list(inputs.values()), {}

    def bind(self, inputs, outputs, shape, workspace):
        positional, named = self._arguments(inputs, outputs)
        updated = _updated(self._contract)
        model = self._model

        def call():
            return _finish(model(*positional, **named), outputs, updated, inputs)

        return call


def _as_dict(result, outputs, updated):
    """What was returned, by output. Those that are updated in place need not be returned."""
    names = list(outputs)
    if isinstance(result, dict):
        if not set(names) - updated <= set(result) <= set(names):
            raise Refusal(
                "wrong_structure",
                "returned %s; the outputs are %s" % (sorted(map(str, result)), names),
            )
        return result
    if result is None and updated == set(names):
        return {}
    values = list(result) if isinstance(result, (tuple, list)) else [result]
    if len(values) == len(names) - len(updated):
        names = [name for name in names if name not in updated]
    if len(values) != len(names):
        raise Refusal(
            "wrong_structure",
            "returned %d outputs; there are %d: %s" % (len(values), len(names), names),
        )
    return dict(zip(names, values))


def _refuse_alias(name, value, inputs, returned):
    """An output has memory of its own: a view of an input computes nothing, and one tensor is not
    two results. Views that lie side by side in one buffer are fine."""
    if value.numel() == 0:
        return
    at = value.data_ptr()
    for other, tensor in inputs.items():
        if tensor.data_ptr() <= at < tensor.data_ptr() + tensor.numel() * tensor.element_size():
            raise Refusal("wrong_structure", "%s shares its memory with input %s" % (name, other))
    if at in returned:
        raise Refusal(
            "wrong_structure", "%s shares its memory with output %s" % (name, returned[at])
        )
    returned[at] = name


def _fitting(result, outputs, updated=frozenset(), inputs=None):
    """What was returned, each with its place in the output arena. Only plain tensors: a subclass
    could compute now what it should have computed in its call."""
    fitting, returned = [], {}
    for name, value in _as_dict(result, outputs, updated).items():
        place = outputs[name]
        if type(value) not in (torch.Tensor, torch.nn.Parameter):
            raise Refusal(
                "wrong_structure", "%s is a %s, not a torch.Tensor" % (name, type(value).__name__)
            )
        if value.layout != torch.strided or value.is_quantized:
            raise Refusal("wrong_structure", "%s is %s; it must be dense" % (name, value.layout))
        if value.device != place.device:
            raise Refusal(
                "wrong_structure",
                "%s lies on %s; it must lie on %s" % (name, value.device, place.device),
            )
        if place.element_size() == 1 and value.element_size() == 1 and value.dtype != place.dtype:
            value = value.contiguous().view(place.dtype)  # fp8 as uint8 or the other way round
        if tuple(value.shape) != tuple(place.shape) or value.dtype != place.dtype:
            raise Refusal(
                "wrong_structure",
                "%s is %s %s; it must be %s %s"
                % (name, value.dtype, list(value.shape), place.dtype, list(place.shape)),
            )
        _refuse_alias(name, value, inputs or {}, returned)
        fitting.append((value, place))
    return fitting


def _store(result, outputs, updated=frozenset(), inputs=None):
    """Copies what was returned into the output arena."""
    for value, place in _fitting(result, outputs, updated, inputs):
        same = value.data_ptr() == place.data_ptr() and value.stride() == place.stride()
        if not same:
            place.copy_(value)


def _is_computed(value):
    """Whether a returned tensor holds its values in their order. An expanded or transposed
    tensor, or one with a pending negation, is not finished: copying it to its place is a part
    of the work."""
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided:
        return True  # refused when it is stored
    return value.is_contiguous() and not value.is_neg() and not value.is_conj()


class _Returned:
    """Outputs that a call has returned, computed and not yet in their places."""

    def __init__(self, result, outputs, updated, inputs):
        self._given = (result, outputs, updated, inputs)

    def __call__(self):
        """Stores them."""
        _store(*self._given)

    def check(self):
        """Refuses what does not fit, where somebody else has stored them."""
        _fitting(*self._given)

    def addresses(self):
        """Where each output lies; 0 for its place, and for what check() will refuse."""
        result, outputs, updated, _ = self._given
        try:
            values = _as_dict(result, outputs, updated)
        except Refusal:
            return [0] * len(outputs)
        return [_address(values.get(name), place) for name, place in outputs.items()]


def _address(value, place):
    if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.device != place.device:
        return 0
    address = value.data_ptr()
    return 0 if address == place.data_ptr() else address


def _finish(result, outputs, updated, inputs):
    """What is to be stored after the timed window; None when it had to be stored within it, since
    the call had left work undone."""
    if isinstance(result, dict):
        values = result.values()
    else:
        values = result if isinstance(result, (tuple, list)) else (result,)
    if all(_is_computed(value) for value in values):
        return _Returned(result, outputs, updated, inputs)
    _store(result, outputs, updated, inputs)
    return None


class Worker:
    def __init__(self, device):
        self._device = device
        self._arenas = Arenas(device, fp8_types=True)
        self._module = None
        self._contract = None
        self._shape = None
        self._kind = None

    def map(self, request, fds):
        return self._arenas.map(request, fds)

    def unmap(self, request, _fds):
        return self._arenas.unmap(request)

    def check(self, request, _fds):
        """What can be said without a device. With `precompile`, and where the compiler is here, the
        candidate's own precompile() runs: it compiles for a device that it names."""
        found = roofmark_static.check(request)
        precompiled = request["precompile"] and found["installed"] and found["precompiles"]
        if precompiled:
            function = getattr(_import(request["path"]), "precompile", None)
            if not callable(function) or any(
                need for _, need in _parameters(function, "precompile")
            ):
                raise Refusal("bad_interface", "precompile must be a function without parameters")
            try:
                function()
            except BaseException as error:
                raise refusal_of(error, "compile_error") from None
        found["precompiled"] = precompiled
        return found

    def require(self, request, _fds):
        """Refuses as unsupported where the lane's compiler is missing. Comes before load, as long
        as no code of the candidate has run: later, the judge would not believe it."""
        roofmark_static.require_compiler(request)
        return {}

    def load(self, request, _fds):
        self._contract = request["contract"]
        self._module = _import(request["path"])
        entry = request.get("entry") or "run"
        names = (entry,) if entry != "run" else ("run",) + _CLASS_NAMES
        found = next((n for n in names if hasattr(self._module, n)), None)
        if found is None:
            raise Refusal("bad_interface", "defines none of %s" % ", ".join(names))
        target = getattr(self._module, found)
        if inspect.isclass(target):
            self._kind = _Class(target, self._module, self._contract)
        elif callable(target):
            self._kind = _Function(target, self._contract)
        else:
            raise Refusal("bad_interface", "'%s' is no function and no class" % found)
        return {}

    def init(self, request, _fds):
        self._shape = request["shape"]
        workspace_bytes = 0
        with torch.no_grad():
            self._kind.init(self._shape, _decoded(request.get("construct")), self._device)
            for name in ("init", "workspace_bytes"):
                function = getattr(self._module, name, None)
                if not callable(function):
                    continue
                result = function(dict(self._shape)) if _parameters(function, name) else function()
                if name == "workspace_bytes":
                    workspace_bytes = int(result)
        self._device.synchronize()
        return {"workspace_bytes": workspace_bytes}

    def _bind(self, call, request):
        outputs = self._arenas.tensors(call["out"])
        before = self._arenas.tensors(call["in"])
        inputs = {name: before[name] for name in before if name not in outputs}
        return self._kind.bind(inputs, outputs, self._shape, self._arenas.workspace(request))

    def call(self, request, _fds):
        with torch.no_grad():
            finish = self._bind(request, request)()
            if finish is not None:
                finish()
        self._device.synchronize()
        return {}

    def apis(self, request, _fds):
        """Names what PyTorch is asked for in one call, for a person to read."""
        with torch.no_grad():
            call = self._bind(request, request)
            with Listening() as heard:
                call()
        self._device.synchronize()
        return {"apis": heard.names}

    def bell(self, request, fds):
        calls = [self._bind(call, request) for call in request["calls"]]
        with torch.no_grad():
            made = serve_bell(
                fds[0], lambda number: calls[number % len(calls)](), request.get("fetched", False)
            )
        return {"calls": made}

    def fit(self, request, _fds):
        with torch.no_grad():
            return self._device.fit(request, self._bind(request, request))

    def batch(self, request, _fds):
        calls = [self._bind(call, request) for call in request["calls"]]
        with torch.no_grad():
            return self._device.batch(request, len(calls), lambda number: calls[number]())
