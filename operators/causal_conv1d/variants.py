# SPDX-License-Identifier: Apache-2.0
"""The causal convolution computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref.mistakes import replaced, zeroed

EXTRA_SHAPES = (
    {"lens": [1], "initial": [1], "dim": 256, "width": 4, "slots": 2},
    {"lens": [300, 20], "initial": [1, 0], "dim": 32, "width": 4, "slots": 4},
)
_ALL = ("typical", "heavy_tail", "offset")
_PIECE = 1 << 26


def _in_order(taps, bias):
    total = bias
    for product in taps:
        total = total + product
    return total


def _bias_last(taps, bias):
    return sum(reversed(taps)) + bias


def _pairs(taps, bias):
    return sum(taps[0::2]) + (sum(taps[1::2]) + bias)


def _in_bf16(taps, bias):
    total = bias.to(torch.bfloat16)
    for product in taps:
        total = total + product.to(torch.bfloat16)
    return total.float()


def _silu(sums):
    return sums / (1.0 + torch.exp(-sums))


def _by_tanh(sums):
    half = sums * 0.5
    return half * torch.tanh(half) + half


def _rounded_first(sums):
    return torch.nn.functional.silu(sums.to(torch.bfloat16).float())


def _before(given):
    """Columns before each sequence, [seqs, dim, width - 1]."""
    known = given["conv_states"][given["cache_indices"].long()]
    return known * given["has_initial_state"].to(known.dtype)[:, None, None]


def _states_after(shape, given, before):
    """conv_states with the last columns of each sequence."""
    x, starts = given["x"], given["query_start_loc"].long()
    width, known = shape["width"], before(given)
    column = starts[1:, None] - (width - 1) + torch.arange(width - 1, device=x.device)
    own = x[:, column.clamp(min=0)].transpose(0, 1)
    past = column - starts[:-1, None]
    old = known.gather(2, (past.clamp(max=-1) + width - 1)[:, None].expand_as(known).clamp(min=0))
    after = given["conv_states"].clone()
    after[given["cache_indices"].long()] = torch.where(past[:, None] >= 0, own, old)
    return after


def _conv(
    dtype=torch.float32,
    add=_in_order,
    activate=_silu,
    before=_before,
    taps=lambda weight: weight,
    shift=0,
    apart=True,
    change=None,
    finish=lambda shape, given, got: got,
    applies=lambda shape: True,
):
    """The whole operator with parts replaced. `before` gives the columns before each sequence,
    `apart` whether a sequence ends where the next one starts, `change` alters the inputs and
    `finish` the outputs."""

    def compute(shape, **given):
        if not applies(shape):
            return None
        used = {**given, **change(shape, given)} if change else given
        return finish(shape, given, run(shape, used))

    def run(shape, given):
        x, starts = given["x"], given["query_start_loc"].long()
        width, seqs = shape["width"], shape["seqs"]
        sequence = torch.repeat_interleave(
            torch.arange(seqs, device=x.device), starts.diff(), output_size=shape["total"]
        )
        token = torch.arange(shape["total"], device=x.device)
        first = starts[:-1][sequence] if apart else torch.zeros_like(token)
        sequence = sequence if apart else torch.zeros_like(sequence)
        known, out = before(given).transpose(0, 1), torch.empty_like(x)
        step = max(1, _PIECE // shape["total"])
        for at in range(0, shape["dim"], step):
            rows = slice(at, at + step)
            weight = taps(given["weight"][rows].to(dtype))
            products = []
            for tap in range(width):
                source = token + shift - (width - 1) + tap
                own = x[rows][:, source.clamp(0, shape["total"] - 1)]
                column = (source - first).clamp(-(width - 1), -1) + width - 1
                old = known[rows][:, sequence, column]
                value = torch.where(source >= first, own, old).to(dtype)
                products.append(value * weight[:, tap, None])
            sums = add(products, given["bias"][rows, None].to(dtype).expand_as(products[0]))
            out[rows] = activate(sums).to(torch.bfloat16)
        return {"out": out, "conv_states": _states_after(shape, given, before)}

    return compute


HONEST = {
    "float64": _conv(torch.float64),
    "bias last": _conv(add=_bias_last, activate=_by_tanh),
    "taps in pairs": _conv(add=_pairs),
    "rounded before the silu": _conv(activate=_rounded_first),
}


def _slots(given):
    return given["cache_indices"].long()


def _others_lost(shape, given, got):
    kept = torch.zeros_like(got["conv_states"])
    kept[_slots(given)] = got["conv_states"][_slots(given)]
    return kept


def _written_in_order(shape, given, got):
    kept = given["conv_states"].clone()
    kept[: shape["seqs"]] = got["conv_states"][_slots(given)]
    return kept


def _newest_first(shape, given, got):
    kept = got["conv_states"].clone()
    kept[_slots(given)] = kept[_slots(given)].flip(-1)
    return kept


def _last_state_stale(shape, given, got):
    kept = got["conv_states"].clone()
    kept[_slots(given)[-1]] = given["conv_states"][_slots(given)[-1]]
    return kept


def _outputs_kept(shape, given, got):
    """The last columns of out in place of those of x."""
    kept, ends = got["conv_states"].clone(), given["query_start_loc"][1:].long() - 1
    kept[_slots(given), :, -1] = got["out"][:, ends].t()
    return kept


def _continues(shape):
    return sum(shape["initial"]) > 0


def _starts(shape):
    return sum(shape["initial"]) < shape["seqs"]


def _several(shape):
    return shape["seqs"] > 1


WRONG = {
    "zeros": (
        _conv(finish=replaced(out=lambda shape, given, got: torch.zeros_like(got["out"]))),
        _ALL,
    ),
    "a constant": (
        _conv(finish=replaced(out=lambda shape, given, got: torch.full_like(got["out"], 0.5))),
        _ALL,
    ),
    "a copy of x": (_conv(finish=replaced(out=lambda shape, given, got: given["x"])), _ALL),
    "silu of the bias": (_conv(add=lambda taps, bias: bias), _ALL),
    "silu of x": (_conv(add=lambda taps, bias: taps[-1]), _ALL),
    "no silu": (_conv(activate=lambda sums: sums), _ALL),
    "sigmoid": (_conv(activate=torch.sigmoid), _ALL),
    "relu": (_conv(activate=torch.relu), ("typical", "offset")),
    "bias dropped": (_conv(add=lambda taps, bias: sum(taps)), _ALL),
    "oldest tap dropped": (_conv(add=lambda taps, bias: sum(taps[1:]) + bias), _ALL),
    "taps reversed": (_conv(taps=lambda weight: weight.flip(-1)), _ALL),
    "weights one channel off": (
        _conv(change=lambda shape, given: {"weight": given["weight"].roll(1, 0)}),
        _ALL,
    ),
    "one token late": (_conv(shift=-1), _ALL),
    "one token ahead": (
        _conv(shift=1, applies=lambda shape: max(shape["lens"]) > 1),
        _ALL,
    ),
    "every sequence starts anew": (
        _conv(before=lambda given: _before(given) * 0, applies=_continues),
        _ALL,
    ),
    "every sequence continues": (
        _conv(
            before=lambda given: given["conv_states"][_slots(given)],
            applies=_starts,
        ),
        _ALL,
    ),
    "cache indices ignored": (
        _conv(
            change=lambda shape, given: {
                "cache_indices": torch.arange(
                    shape["seqs"], dtype=torch.int32, device=given["x"].device
                )
            }
        ),
        _ALL,
    ),
    "states before newest first": (
        _conv(before=lambda given: _before(given).flip(-1), applies=_continues),
        _ALL,
    ),
    "sequences run together": (_conv(apart=False, applies=_several), _ALL),
    "states not written": (
        _conv(finish=replaced(conv_states=lambda shape, given, got: given["conv_states"])),
        _ALL,
    ),
    "last state stale": (_conv(finish=replaced(conv_states=_last_state_stale)), _ALL),
    "states are outputs": (_conv(finish=replaced(conv_states=_outputs_kept)), _ALL),
    "states newest first": (_conv(finish=replaced(conv_states=_newest_first)), _ALL),
    "states written in order": (_conv(finish=replaced(conv_states=_written_in_order)), _ALL),
    "other states lost": (_conv(finish=replaced(conv_states=_others_lost)), _ALL),
    "last token missing": (
        _conv(finish=replaced(out=lambda shape, given, got: zeroed(got["out"], ..., -1))),
        _ALL,
    ),
    "last channels missing": (
        _conv(
            finish=replaced(
                out=lambda shape, given, got: zeroed(
                    got["out"], slice(-(shape["dim"] % 8 or 8), None)
                )
            )
        ),
        _ALL,
    ),
    "summed in bf16": (
        _conv(add=_in_bf16, applies=lambda shape: shape["dim"] * shape["total"] >= 1000),
        ("offset",),
    ),
}
