# SPDX-License-Identifier: Apache-2.0
"""Regimes that need nothing of an operator's own: its typical inputs, changed where it hurts.

A reference that lists such a regime in its _REGIMES realises it itself; one that names inputs in
_BOUND gets those as they were drawn, since their values only make sense together. One that names
inputs in _ROWS says that what it computes of a row (of their first dimension) depends on no other
row of them, and gets the regime "mixed": else every row is of the same kind, and a program that
looks at one of them knows all.
"""

import torch

_PIECE = 1 << 24  # elements worked on at a time
_ONE_IN = 64
# By the type's size in bytes: an integer of it, and the bits of its mantissa.
_BITS = {
    torch.bfloat16: (torch.int16, 7),
    torch.float16: (torch.int16, 10),
    torch.float32: (torch.int32, 23),
}


def _subnormal(count, dtype, gen):
    """Subnormal values of either sign, made of bits: arithmetic may flush them."""
    integer, mantissa = _BITS[dtype]
    bits = torch.randint(1, 1 << mantissa, (count,), generator=gen, device=gen.device)
    negative = torch.randint(2, (count,), generator=gen, device=gen.device)
    lowest = -(1 << (8 * torch.empty(0, dtype=integer).element_size() - 1))
    return (bits + negative * lowest).to(integer).view(dtype)


def with_subnormals(tensor, gen):
    """One element in 64 is subnormal, and so is all of one row (of the last dimension) in 64,
    where there are enough to leave most rows alone."""
    out = tensor.contiguous().clone()
    rows = out.view(-1, out.shape[-1]) if out.dim() > 0 else out.view(1, 1)
    step = max(1, _PIECE // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        part = rows[start : start + step]
        chosen = torch.rand(part.shape, generator=gen, device=gen.device) < 1.0 / _ONE_IN
        if rows.shape[0] >= 8:
            whole = torch.rand((part.shape[0], 1), generator=gen, device=gen.device)
            if start == 0:
                whole[int(torch.randint(len(whole), (1,), generator=gen, device=gen.device))] = 0
            chosen |= whole < 1.0 / _ONE_IN
        part[chosen] = _subnormal(int(chosen.sum()), out.dtype, gen)
    return out


def own(module):
    """The regimes of an operator beside those that every operator has."""
    common = ("typical", "heavy_tail", "offset", "denormals")
    names = [name for name in getattr(module, "_REGIMES", ()) if name not in common]
    return names + ["mixed"] * bool(getattr(module, "_ROWS", ()))


def _mixed(module, shape, seed, device):
    """Typical rows, and among them rows of the other regimes: about half of all, one in eight or
    one in 64, by chance, and at least one. Rows of several inputs are chosen together."""
    values = module.inputs(shape, seed, "typical", device)
    names = module._ROWS
    count = len(values[names[0]])
    gen = torch.Generator(device=device).manual_seed(seed * 3 + 2)

    def below(limit, size=1):
        return torch.randint(limit, (size,), generator=gen, device=device)

    one_in = (2, 8, 64)[int(below(3))]
    chosen = below(one_in, count) == 0
    chosen[below(count)] = True
    kinds = below(2, count)
    for kind, regime in enumerate(("heavy_tail", "offset")):
        rows = (chosen & (kinds == kind)).nonzero().flatten()
        if len(rows) == 0:
            continue
        other = module.inputs(shape, seed + 1 + kind, regime, device)
        for name in names:
            values[name][rows] = other[name][rows]
    return values


def draw(module, shape, seed, regime, device):
    """module.inputs(), with the regimes of this file."""
    if regime == "mixed" and getattr(module, "_ROWS", ()):
        return _mixed(module, shape, seed, device)
    if regime != "denormals" or regime in getattr(module, "_REGIMES", ()):
        return module.inputs(shape, seed, regime, device)
    values = module.inputs(shape, seed, "typical", device)
    gen = torch.Generator(device=device).manual_seed(seed * 3 + 1)
    bound = getattr(module, "_BOUND", ())
    return {
        name: with_subnormals(value, gen)
        if value.dtype in _BITS and value.numel() > 0 and name not in bound
        else value
        for name, value in values.items()
    }
