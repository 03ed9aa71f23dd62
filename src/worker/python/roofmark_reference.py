# SPDX-License-Identifier: Apache-2.0
"""The reference worker: fills input arenas and computes expected outputs by reference.py."""

import importlib.util
import os

import roofmark_ref
import torch

from roofmark_arenas import Arenas, Refusal
from roofmark_ref import regimes

# References derive several generators from one seed by small multiples; these bits leave room for
# that in PyTorch's 64-bit seeds.
_SEED_BITS = 56


def _store(what, values, places):
    """Copies each tensor to its place. A shape or dtype that differs is the reference's fault."""
    if not isinstance(values, dict):
        raise Refusal("wrong_structure", "%s must return a dict of tensors" % what)
    if set(values) != set(places):
        raise Refusal(
            "wrong_structure",
            "%s returned %s where the card names %s" % (what, sorted(values), sorted(places)),
        )
    for name, place in places.items():
        value = values[name]
        if tuple(value.shape) != tuple(place.shape) or value.dtype != place.dtype:
            raise Refusal(
                "wrong_structure",
                "%s: %s is %s %s where the card says %s %s"
                % (what, name, value.dtype, list(value.shape), place.dtype, list(place.shape)),
            )
        place.copy_(value)


def _load_file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Worker:
    def __init__(self, device):
        self._device = device
        self._arenas = Arenas(device, fp8_types=False)
        self._module = None
        self._folder = None
        self._variants = None

    def map(self, request, fds):
        return self._arenas.map(request, fds)

    def unmap(self, request, _fds):
        return self._arenas.unmap(request)

    def load(self, request, _fds):
        path = request["path"]
        # A sealed bundle brings the modules that its reference imports, under its own names.
        own = os.path.join(os.path.dirname(path), "roofmark_ref")
        if os.path.isdir(own):
            roofmark_ref.__path__.append(own)
        module = _load_file("roofmark_operator_reference", path)
        for name in ("inputs", "reference"):
            if not callable(getattr(module, name, None)):
                raise Refusal("bad_interface", "%s defines no %s()" % (path, name))
        self._module = module
        self._folder = os.path.dirname(path)
        # What another operator's reference left, if this worker served one before.
        self._variants = None
        self._device.release()
        return {}

    def inputs(self, request, _fds):
        with torch.no_grad():
            for draw in request["draws"]:
                values = regimes.draw(
                    self._module,
                    request["shape"],
                    draw["seed"] & ((1 << _SEED_BITS) - 1),
                    request["regime"],
                    self._device.torch_device,
                )
                _store("inputs()", values, self._arenas.tensors(draw["arena"]))
                values = None  # its memory serves the next one
        self._device.synchronize()
        return {}

    def expected(self, request, _fds):
        places = self._arenas.tensors(request["out"])
        with torch.no_grad():
            values = self._module.reference(request["shape"], **self._arenas.tensors(request["in"]))
            _store("reference()", values, places)
        self._device.synchronize()
        return {}

    def regimes(self, _request, _fds):
        """The operator's own regimes, beside those that every operator has."""
        return {"regimes": regimes.own(self._module)}

    def programs(self, _request, _fds):
        """The operator's admission programs: honest ways of computing it, and wrong ones."""
        if self._variants is None:
            path = os.path.join(self._folder, "variants.py")
            if not os.path.exists(path):
                raise Refusal("bad_interface", "there is no variants.py beside reference.py")
            self._variants = _load_file("roofmark_operator_variants", path)
        honest = [
            {"name": name, "honest": True, "regimes": []} for name in self._variants.HONEST
        ]
        wrong = [
            {"name": name, "honest": False, "regimes": list(regimes)}
            for name, (_, regimes) in self._variants.WRONG.items()
        ]
        return {"programs": honest + wrong}

    def program(self, request, _fds):
        """What one program makes of the inputs. A wrong one may hand its inputs back, or change
        them, so it gets copies."""
        name = request["name"]
        places = self._arenas.tensors(request["out"])
        given = self._arenas.tensors(request["in"])
        try:
            with torch.no_grad():
                if name in self._variants.HONEST:
                    values = self._variants.HONEST[name](request["shape"], **given)
                else:
                    copies = {key: tensor.clone() for key, tensor in given.items()}
                    values = self._variants.WRONG[name][0](request["shape"], **copies)
                if values is not None:
                    _store("'%s'" % name, values, places)
            self._device.synchronize()
            applies = values is not None
        finally:
            # One program's leavings must not be another's lack of memory.
            values = copies = None
            self._device.release()
        return {"applies": applies}
