# SPDX-License-Identifier: Apache-2.0
"""Which functions of PyTorch a call asks for. The names help a person to see what a candidate fell
back to; nothing is decided by them, since they come out of the candidate's own process.
"""

import torch

try:
    from torch.overrides import TorchFunctionMode, resolve_name
except ImportError:  # a PyTorch without modes: nothing is heard
    TorchFunctionMode, resolve_name = object, None

_MOST = 32
# Asking a tensor for its properties, or for another view of it, is no work.
_IDLE = frozenset(
    "size stride dim numel data_ptr element_size is_contiguous storage_offset view reshape flatten "
    "unbind chunk split unsqueeze squeeze expand transpose permute t narrow select detach "
    "new_empty empty empty_like empty_strided untyped_storage storage".split()
)


def _name_of(function):
    """"torch.nn.functional.rms_norm", or None where there is nothing worth naming."""
    last = getattr(function, "__name__", "")
    if last in _IDLE or last.startswith("__get") or last.startswith("__set"):
        return None
    if getattr(torch, last, None) is function:
        return "torch." + last  # resolve_name may know it by an alias
    try:
        name = resolve_name(function)
    except Exception:
        name = None
    return str(name) if name else (last or None)


class Listening(TorchFunctionMode):
    """Within it, `names` gathers the functions that are called, each once, in order. Only what the
    candidate calls itself: what those functions call in turn is theirs."""

    def __init__(self):
        super().__init__()
        self.names = []

    if TorchFunctionMode is object:

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            return False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        name = _name_of(function)
        if name is not None and name not in self.names and len(self.names) < _MOST:
            self.names.append(name)
        return function(*args, **(kwargs or {}))
