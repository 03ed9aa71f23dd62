# SPDX-License-Identifier: Apache-2.0
"""The fp8 mixture-of-experts layer computed in ways that a checker must accept, and in ways that it
must refuse, for either fp8 format."""

import functools

import torch
import torch.nn.functional as F

from roofmark_ref import fp8, moe, moe_routes
from roofmark_ref.fp8_blockscale_fused_moe import values

EXTRA_SHAPES = ()
_ALL = ("typical", "heavy_tail", "offset")
_CHUNK = 1 << 24
_FLOAT64_AT_MOST = 5e11  # operations; many devices have few float64 units


def _out(tensor):
    return {"out": tensor.to(torch.bfloat16)}


def _bf16(tensor):
    return tensor.to(torch.bfloat16).to(tensor.dtype)


def _product(x, weight):
    return x @ weight.t()


def _in_halves(x, weight):
    half = x.shape[1] // 2
    return x[:, half:] @ weight[:, half:].t() + x[:, :half] @ weight[:, :half].t()


def _as_is(codes):
    return codes


def _silu_and_mul(gate, up):
    return F.silu(gate) * up


def _by_tanh(gate, up):
    half = 0.5 * gate
    return (half * torch.tanh(half) + half) * up


def _requantised(act, group, dtype):
    """To fp8 and back, with a scale a token and group."""
    blocks = act.view(len(act), -1, group)
    scale = blocks.abs().amax(2, keepdim=True).clamp(min=1e-10) / fp8.MAX_VALUE[dtype]
    return (fp8.decode(fp8.encode(blocks / scale, dtype), dtype) * scale).view(act.shape).to(act)


def _layer(
    hidden_states,
    w1,
    w2,
    topk_weights,
    topk_ids,
    a_scale,
    fc1_scale,
    fc2_scale,
    dtype,
    precision=torch.float32,
    product=_product,
    activation=_silu_and_mul,
    operand=lambda tensor: tensor,
    stored=lambda tensor: tensor,
    between=lambda act: act,
    keep=lambda slots: slots,
    seen=None,
):
    """The layer, expert by expert, with a hook for each step.

    `seen` changes the codes of an operand as they are read: all matrices may be too large to copy.
    """
    seen = seen or {}
    top_k, inter = topk_ids.shape[1], w2.shape[2]
    weights = topk_weights.reshape(-1, 1).to(precision)
    out = torch.zeros(hidden_states.shape, dtype=precision, device=hidden_states.device)
    rows = max(1, _CHUNK // max(2 * inter, hidden_states.shape[1]))

    def read(name, codes, scales):
        return operand(values(seen.get(name, _as_is)(codes), scales, dtype)).to(precision)

    for expert, slots in moe.pieces(topk_ids, len(w1), rows):
        slots = keep(slots)
        if len(slots) == 0:
            continue
        tokens = slots // top_k
        x = read("hidden_states", hidden_states[tokens], a_scale[tokens])
        both = stored(product(x, read("w1", w1[expert], fc1_scale[expert])))
        act = between(stored(activation(both[:, :inter], both[:, inter:])))
        part = product(act, read("w2", w2[expert], fc2_scale[expert]))
        out.index_add_(0, tokens, stored(part * weights[slots]))
    return _out(out)


def _honest(dtype):
    def with_(**hooks):
        return lambda shape, **tensors: _layer(**tensors, dtype=dtype, **hooks)

    def in_float64(shape, **tensors):
        work = 6.0 * shape["tokens"] * shape["top_k"] * shape["hidden"] * shape["inter"]
        if work > _FLOAT64_AT_MOST:
            return None
        return _layer(**tensors, dtype=dtype, precision=torch.float64)

    def requantised(shape, stored=lambda tensor: tensor, **tensors):
        again = functools.partial(_requantised, group=shape["group"], dtype=dtype)
        return _layer(**tensors, dtype=dtype, between=again, stored=stored)

    return {
        "float64": in_float64,
        "products in halves": with_(product=_in_halves),
        "by tanh": with_(activation=_by_tanh),
        "dequantised to bf16, stored in bf16": with_(operand=_bf16, stored=_bf16),
        "activation in fp8": requantised,
        "activation in fp8, stored in bf16": functools.partial(requantised, stored=_bf16),
    }


def _without_last_groups(codes):
    # One of many groups weighs less than a second quantisation; then two are left out.
    short = codes.clone()
    short[:, codes.shape[1] - (256 if codes.shape[1] > 1024 else 128) :] = 0
    return short


def _roll_if(dim):
    return lambda shape, t: t.roll(1, dim) if t.shape[dim] > 1 else None


def _one_group_off(shape, scales):
    # Two scales alone may be alike by chance.
    return scales.roll(1, 1) if scales.shape[1] > 1 and scales.numel() > 2 else None


def _transposed(shape, scales):
    if scales.shape[1] != scales.shape[2] or scales.shape[1] == 1:
        return None
    return scales.transpose(1, 2).contiguous()


def _rows_swapped(codes):
    return torch.cat(codes.chunk(2)[::-1])


def _gate_scales_for_up(shape, scales):
    return scales[:, : scales.shape[1] // 2].repeat(1, 2, 1)


def _without_subnormals(codes):
    return torch.where((codes & 0x78) == 0, torch.zeros_like(codes), codes)


def _misread_codes(dtype):
    """Right layers of codes that are read wrongly: name, hooks of _layer's `seen`, regimes."""
    other = "f8_e4m3fn" if dtype == "f8_e4m3fnuz" else "f8_e4m3fnuz"
    # What each code means in the other format, as a code of this one; where it means nothing, 0.
    codes = torch.arange(256, dtype=torch.uint8)
    meant = fp8.encode(torch.nan_to_num(fp8.decode(codes, other)), dtype)

    def as_other(codes):
        return meant.to(codes.device)[codes.to(torch.int64)]

    return {
        "last groups of hidden missing": (
            {"hidden_states": _without_last_groups},
            ("typical", "heavy_tail"),
        ),
        "last groups of inter missing": ({"w2": _without_last_groups}, _ALL),
        "signs ignored": ({"hidden_states": lambda codes: codes & 0x7F}, ("typical", "heavy_tail")),
        "hidden states in the other format": ({"hidden_states": as_other}, _ALL),
        "down in the other format": ({"w2": as_other}, _ALL),
        "subnormals flushed": (
            {"hidden_states": _without_subnormals, "w1": _without_subnormals},
            ("heavy_tail",),
        ),
        "gate and up swapped": ({"w1": _rows_swapped}, ("typical", "heavy_tail")),
    }


def _ones(shape, tensor):
    return torch.ones_like(tensor)


_CHANGED_OPERANDS = {
    "scales of hidden states ignored": ({"a_scale": _ones}, _ALL),
    "scales of gate and up ignored": ({"fc1_scale": _ones}, _ALL),
    "scales of down ignored": ({"fc2_scale": _ones}, _ALL),
    "scales of gate and up transposed": ({"fc1_scale": _transposed}, _ALL),
    "scales of down transposed": ({"fc2_scale": _transposed}, _ALL),
    "scales of hidden states one group off": ({"a_scale": _one_group_off}, _ALL),
    "scales of down one band off": ({"fc2_scale": _roll_if(1)}, _ALL),
    "scales of gate for up": ({"fc1_scale": _gate_scales_for_up}, _ALL),
    "scales of the next expert": ({"fc1_scale": _roll_if(0), "fc2_scale": _roll_if(0)}, _ALL),
    "hidden states of the previous token": (
        {"hidden_states": _roll_if(0), "a_scale": _roll_if(0)},
        ("typical", "heavy_tail"),
    ),
    "router weights all alike": (
        {"topk_weights": lambda shape, w: torch.full_like(w, 1.0 / w.shape[1])},
        _ALL,
    ),
    "router weights divided by their sum": (
        {"topk_weights": lambda shape, w: w / w.sum(1, keepdim=True)},
        _ALL,
    ),
    "router weights one choice off": (
        # One token's weights may be alike by chance.
        {"topk_weights": lambda s, w: _roll_if(1)(s, w) if s["tokens"] > 1 else None},
        _ALL,
    ),
    "ids one off": ({"topk_ids": moe_routes.ids_one_off}, _ALL),
    "ids ignored": ({"topk_ids": moe_routes.ids_ignored}, _ALL),
    "down of the next expert": ({"w2": _roll_if(0), "fc2_scale": _roll_if(0)}, _ALL),
}


def _programs(dtype, layer, with_):
    """Wrong programs other than those of _CHANGED_OPERANDS and _misread_codes."""

    def one_choice(pick):
        def compute(shape, topk_weights, topk_ids, **tensors):
            one = pick(topk_ids)
            if shape["top_k"] == 1:
                return None
            weights, ids = topk_weights.gather(1, one), topk_ids.gather(1, one)
            return layer(topk_weights=weights, topk_ids=ids, **tensors)

        return compute

    def without(where):
        def compute(shape, **tensors):
            out = layer(**tensors)["out"]
            out[where] = 0
            return {"out": out}

        return compute

    def copied(shape, hidden_states, a_scale, **_):
        return _out(values(hidden_states, a_scale, dtype))

    some = ("typical", "offset")
    return {
        "zeros": (lambda shape, hidden_states, **_: _out(hidden_states * 0), _ALL),
        "a constant": (lambda shape, hidden_states, **_: _out(hidden_states * 0 + 1), _ALL),
        "a copy": (copied, _ALL),
        "codes as numbers": (lambda shape, hidden_states, **_: _out(hidden_states), _ALL),
        "no activation": (with_(activation=lambda gate, up: gate * up), ("typical", "heavy_tail")),
        "up dropped": (with_(activation=lambda gate, up: F.silu(gate)), _ALL),
        "first choice only": (one_choice(lambda ids: ids[:, :1].to(torch.int64) * 0), some),
        "last expert wins": (one_choice(lambda ids: ids.argmax(1, keepdim=True)), some),
        "last slot of each expert missing": (with_(keep=lambda slots: slots[:-1]), some),
        "last row missing": (without(slice(-1, None)), some),
        "last columns missing": (without((slice(None), slice(-16, None))), some),
    }


def _wrong(dtype):
    def layer(**tensors):
        return _layer(**tensors, dtype=dtype)

    def with_(**hooks):
        return lambda shape, **tensors: _layer(**tensors, dtype=dtype, **hooks)

    def changed(changes):
        def compute(shape, **tensors):
            for name, change in changes.items():
                tensors[name] = change(shape, tensors[name])
                if tensors[name] is None:
                    return None
            return layer(**tensors)

        return compute

    operands = {
        how: (changed(changes), regimes) for how, (changes, regimes) in _CHANGED_OPERANDS.items()
    }
    misread = {
        how: (with_(seen=seen), regimes) for how, (seen, regimes) in _misread_codes(dtype).items()
    }
    return {**_programs(dtype, layer, with_), **operands, **misread}


def build(dtype):
    """HONEST and WRONG for one format."""
    return _honest(dtype), _wrong(dtype)
