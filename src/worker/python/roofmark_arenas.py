# SPDX-License-Identifier: Apache-2.0
"""The arenas that a worker has mapped, as tensors by name; and what it says when it fails."""

import traceback


class Refusal(Exception):
    """Becomes the reply {"ok": false, "outcome": ..., "reason": ...}."""

    def __init__(self, outcome, reason):
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason


_MEMORY_TEXTS = (
    "out of memory",
    "not enough memory",
    "can't allocate memory",
    "cannot allocate memory",
)


def refusal_of(error, otherwise="runtime_error"):
    """What happened, as a Refusal: the exception, and where in the files at hand it came from."""
    if isinstance(error, Refusal):
        return error
    text = "%s: %s" % (type(error).__name__, error)
    if isinstance(error, MemoryError) or any(t in text.lower() for t in _MEMORY_TEXTS):
        outcome = "out_of_memory"
    else:
        outcome = otherwise
    frames = [
        "  %s:%d in %s" % (frame.filename, frame.lineno, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
        if "/roofmark/roofmark_" not in frame.filename
    ]
    if isinstance(error, SyntaxError):
        frames.append("  %s:%s" % (error.filename, error.lineno))
    return Refusal(outcome, "\n".join([text[-4000:]] + frames[-6:]))


class Arenas:
    def __init__(self, device, fp8_types):
        """`fp8_types`: whether fp8 tensors get PyTorch's type where it has one, or stay uint8."""
        self._device = device
        self._fp8_types = fp8_types
        self._mappings = {}
        self._tensors = {}

    def map(self, request, fds):
        name = request["arena"]
        if name in self._mappings:
            raise Refusal("runtime_error", "%s is mapped already" % name)
        mapping = self._device.map(fds[0], request["access"], request["bytes"])
        self._mappings[name] = mapping
        self._tensors[name] = {
            t["name"]: self._device.tensor(
                mapping, t["offset"], t["dtype"], t["sizes"], self._fp8_types
            )
            for t in request["tensors"]
        }
        return {"address": mapping.address}

    def unmap(self, request):
        self._tensors.pop(request["arena"])
        self._device.unmap(self._mappings.pop(request["arena"]))
        return {}

    def tensors(self, name):
        if name not in self._tensors:
            raise Refusal("runtime_error", "no arena %r is mapped" % name)
        return self._tensors[name]

    def workspace(self, request):
        """The workspace as a flat uint8 tensor, or None."""
        name = request.get("workspace")
        return next(iter(self.tensors(name).values())) if name else None
