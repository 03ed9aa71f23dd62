# SPDX-License-Identifier: Apache-2.0
"""States of a chunked gated delta rule computed in ways that a checker must accept, and in ways
that it must refuse."""

import torch

from roofmark_ref import gated_delta
from roofmark_ref.mistakes import replaced, zeroed

EXTRA_SHAPES = (
    {
        "lens": [1600, 3],
        "key_heads": 1,
        "value_heads": 2,
        "key_dim": 64,
        "value_dim": 32,
        "chunk": 16,
        "slots": 3,
    },
)
_ALL = ("typical", "heavy_tail", "offset")
_ELEMENTS = 1 << 24


def _same(x):
    return x


def _bf16(x):
    return x.to(torch.bfloat16).to(x.dtype)


def _plain(state, k, w, u, left, decay):
    """One chunk: state [n, h, K, V]; k, w [n, h, t, K]; u [n, h, t, V]; left [n, h, t, 1] e^(g_last
    - g); decay [n, h, 1, 1]. Returns v_new and the state after it."""
    value = u - w @ state
    return value, decay * state + k.transpose(-1, -2) @ (left * value)


def _rounded(state, k, w, u, left, decay):
    """What production gives its matrix units."""
    value = u - w @ _bf16(state)
    return value, decay * state + k.transpose(-1, -2) @ _bf16(left * value)


def _keys_decayed(state, k, w, u, left, decay):
    value = u - w @ state
    return value, decay * state + _bf16(left * k).transpose(-1, -2) @ _bf16(value)


def _halves(state, k, w, u, left, decay):
    """Sums over two halves of the channels, and of the tokens."""
    middle, first = w.shape[-1] // 2, (w.shape[-2] + 1) // 2
    value = u - (
        w[..., :middle] @ state[..., :middle, :] + w[..., middle:] @ state[..., middle:, :]
    )
    moved = left * value
    added = k[..., first:, :].transpose(-1, -2) @ moved[..., first:, :]
    return value, (decay * state + added) + k[..., :first, :].transpose(-1, -2) @ moved[
        ..., :first, :
    ]


def _rows_of_h(lens, chunk):
    """The row of h that each sequence's first chunk has."""
    return [sum(-(-length // chunk) for length in lens[:s]) for s in range(len(lens))]


def _rows_of_chunk(starts, live, at, chunk, device):
    begin = [starts[s] + at for s in live]
    end = [min(starts[s + 1], first + chunk) for s, first in zip(live, begin)]
    return gated_delta.chunk_rows(begin, end, chunk, device)


def _states(
    dtype=torch.float32,
    form=_plain,
    keep=_same,
    stored=lambda before, after: before,
    value=lambda value, left, u: value,
    gates=lambda g: g,
    heads=lambda head, key_heads: head // (len(head) // key_heads),
    change=None,
    finish=lambda shape, given, got: got,
    applies=lambda shape: True,
):
    """The whole operator with parts replaced: `form` computes a chunk, `keep` rounds the state
    between chunks, `stored` picks what h gets and `value` what v_new gets; `gates` alters g within
    a chunk [.., t, heads], `change` the inputs and `finish` the outputs."""

    def compute(shape, **given):
        if not applies(shape):
            return None
        used = {**given, **change(shape, given)} if change else given
        return finish(shape, given, run(shape, **used))

    def run(shape, k, w, u, g, state, state_indices, cu_seqlens):
        starts, chunk, device = cu_seqlens.tolist(), shape["chunk"], u.device
        lens = [end - start for start, end in zip(starts, starts[1:])]
        source = heads(torch.arange(u.shape[1], device=device), k.shape[1])
        h = torch.zeros((shape["chunks"],) + state.shape[1:], dtype=u.dtype, device=device)
        first_row = _rows_of_h(lens, chunk)
        v_new, after = torch.empty_like(u), state.clone()
        size = u.shape[1] * (k.shape[2] * u.shape[2] + 2 * chunk * (k.shape[2] + u.shape[2]))
        for seqs in gated_delta.batches(lens, max(1, _ELEMENTS // size)):
            slot = state_indices[torch.tensor(seqs, device=device)].long()
            now = state[slot].to(dtype)
            for n in range(-(-lens[seqs[0]] // chunk)):
                live = [s for s in seqs if lens[s] > n * chunk]
                rows, real = _rows_of_chunk(starts, live, n * chunk, chunk, device)
                before, total = (
                    now[: len(live)],
                    gates(g[rows].to(dtype)).transpose(1, 2)[..., None],
                )
                last = total[:, :, -1:]
                left = torch.exp(last - total) * real[:, None, :, None]
                own = u[rows].to(dtype).transpose(1, 2)
                got, then = form(
                    before,
                    k[rows][:, :, source].to(dtype).transpose(1, 2),
                    w[rows].to(dtype).transpose(1, 2),
                    own,
                    left,
                    torch.exp(last),
                )
                then = keep(then)
                row = torch.tensor([first_row[s] + n for s in live], device=device)
                h[row] = stored(before, then).to(h.dtype)
                v_new[rows[real]] = value(got, left, own).transpose(1, 2)[real].to(v_new.dtype)
                now[: len(live)] = then
            after[slot] = now.to(torch.float32)
        return {"h": h, "v_new": v_new, "state": after}

    return compute


HONEST = {
    "float64": _states(torch.float64),
    "float32": _states(),
    "operands rounded": _states(form=_rounded),
    "decayed keys rounded": _states(form=_keys_decayed),
    "sums in halves": _states(form=_halves),
}


def _zeros_of(name):
    return replaced(**{name: lambda shape, given, got: torch.zeros_like(got[name])})


def _slots(given):
    return given["state_indices"].long()


def _others_lost(shape, given, got):
    kept = torch.zeros_like(got["state"])
    kept[_slots(given)] = got["state"][_slots(given)]
    return kept


def _in_order(shape, given, got):
    kept = given["state"].clone()
    kept[: shape["seqs"]] = got["state"][_slots(given)]
    return kept


def _last_state_stale(shape, given, got):
    kept = got["state"].clone()
    kept[_slots(given)[-1]] = given["state"][_slots(given)[-1]]
    return kept


def _last_chunk_of_state(shape, given, got):
    """The state as it was when the last chunk began."""
    kept, rows = got["state"].clone(), 0
    lens = given["cu_seqlens"].long().diff()
    rows = torch.div(lens + shape["chunk"] - 1, shape["chunk"], rounding_mode="floor").cumsum(0) - 1
    kept[_slots(given)] = got["h"][rows].float()
    return kept


def _no_prediction(state, k, w, u, left, decay):
    return u, decay * state + k.transpose(-1, -2) @ (left * u)


def _added_prediction(state, k, w, u, left, decay):
    value = u + w @ state
    return value, decay * state + k.transpose(-1, -2) @ (left * value)


def _no_state_decay(state, k, w, u, left, decay):
    value = u - w @ state
    return value, state + k.transpose(-1, -2) @ (left * value)


def _no_value_decay(state, k, w, u, left, decay):
    value = u - w @ state
    return value, decay * state + k.transpose(-1, -2) @ ((left > 0) * value)


def _half_of_the_tokens(state, k, w, u, left, decay):
    value = u - w @ state
    return value, decay * state + (k[..., ::2, :].transpose(-1, -2) @ (left * value)[..., ::2, :])


def _half_of_the_channels(state, k, w, u, left, decay):
    return _plain(state, k, zeroed(w, ..., slice(w.shape[-1] // 2, None)), u, left, decay)


def _several(shape):
    return shape["seqs"] > 1


def _many_tokens(shape):
    return max(shape["lens"]) >= shape["chunk"] // 2


def _several_chunks(shape):
    return max(shape["lens"]) > shape["chunk"]


def _hundred_chunks(shape):
    return max(shape["lens"]) // shape["chunk"] >= 100


def _grouped(shape):
    return 1 < shape["key_heads"] < shape["value_heads"]


def _cheap(compute):
    """Not where narrow heads have a hundred chunks: that is for the mistake that adds up."""

    def limited(shape, **given):
        narrow = shape["chunks"] >= 100 and shape["key_dim"] < 128
        return None if narrow else compute(shape, **given)

    return limited


def _one_sequence(shape, given):
    """All chunks run on from one sequence to the next where lengths are whole chunks."""
    return {
        "cu_seqlens": given["cu_seqlens"][[0, -1]],
        "state_indices": given["state_indices"][:1],
    }


WRONG = {
    "zeros": (
        _states(
            finish=lambda shape, given, got: {name: x * 0 for name, x in got.items()},
        ),
        _ALL,
    ),
    "nothing done": (
        _states(
            finish=lambda shape, given, got: {
                "h": got["h"] * 0,
                "v_new": given["u"],
                "state": given["state"],
            }
        ),
        _ALL,
    ),
    "h is zeros": (_states(finish=_zeros_of("h")), _ALL),
    "v_new is zeros": (_states(finish=_zeros_of("v_new")), _ALL),
    "v_new is a constant": (
        _states(finish=replaced(v_new=lambda s, given, got: torch.full_like(got["v_new"], 0.1))),
        _ALL,
    ),
    "v_new is u": (_states(finish=replaced(v_new=lambda s, given, got: given["u"])), _ALL),
    "v_new decayed": (
        _states(value=lambda value, left, u: left * value, applies=_many_tokens),
        _ALL,
    ),
    "h after the chunk": (_states(stored=lambda before, after: after), _ALL),
    "h of the first chunk for all": (
        _states(
            finish=replaced(h=lambda s, given, got: got["h"][:1].expand_as(got["h"]).contiguous()),
            applies=_several_chunks,
        ),
        _ALL,
    ),
    "no prediction": (_states(form=_no_prediction), _ALL),
    "prediction added": (_states(form=_added_prediction), _ALL),
    "states do not decay": (
        _states(form=_no_state_decay, applies=_many_tokens),
        ("typical", "heavy_tail"),
    ),
    "values do not decay": (
        _states(form=_no_value_decay, applies=_many_tokens),
        ("typical", "heavy_tail"),
    ),
    "gates are of one token": (
        _states(gates=lambda g: torch.cat([g[:, :1], g.diff(dim=1)], 1), applies=_many_tokens),
        _ALL,
    ),
    "gates summed twice": (
        _states(gates=lambda g: g.cumsum(1), applies=_many_tokens),
        _ALL,
    ),
    "gates dropped": (
        _states(gates=lambda g: g * 0, applies=_many_tokens),
        ("typical", "heavy_tail"),
    ),
    "every other token": (_states(form=_half_of_the_tokens), _ALL),
    "half of the channels": (_states(form=_half_of_the_channels), _ALL),
    "heads dealt in turn": (
        _states(heads=lambda head, key_heads: head % key_heads, applies=_grouped),
        _ALL,
    ),
    "first key head for all": (
        _states(heads=lambda head, key_heads: head * 0, applies=_grouped),
        _ALL,
    ),
    "states start at zero": (
        _states(
            change=lambda shape, given: {"state": zeroed(given["state"], _slots(given))},
        ),
        _ALL,
    ),
    "state indices ignored": (
        _states(
            change=lambda shape, given: {
                "state_indices": torch.arange(
                    shape["seqs"], dtype=torch.int32, device=given["u"].device
                )
            }
        ),
        _ALL,
    ),
    "sequences run together": (_states(change=_one_sequence, applies=_several), _ALL),
    "state not written": (
        _states(finish=replaced(state=lambda shape, given, got: given["state"])),
        _ALL,
    ),
    "state before the last chunk": (
        _states(finish=replaced(state=_last_chunk_of_state)),
        ("typical", "heavy_tail"),
    ),
    "last state stale": (
        _states(finish=replaced(state=_last_state_stale)),
        ("typical", "heavy_tail"),
    ),
    "states written in order": (_states(finish=replaced(state=_in_order)), _ALL),
    "other slots lost": (_states(finish=replaced(state=_others_lost)), _ALL),
    "last chunk of h missing": (
        _states(finish=replaced(h=lambda shape, given, got: zeroed(got["h"], -1))),
        _ALL,
    ),
    "last token missing": (
        _states(finish=replaced(v_new=lambda shape, given, got: zeroed(got["v_new"], -1))),
        _ALL,
    ),
    "last channels missing": (
        _states(
            finish=replaced(
                v_new=lambda shape, given, got: zeroed(got["v_new"], ..., slice(-8, None))
            )
        ),
        _ALL,
    ),
}
WRONG = {name: (_cheap(compute), regimes) for name, (compute, regimes) in WRONG.items()}
WRONG["state kept in bf16 over many chunks"] = (
    _states(form=_rounded, keep=_bf16, applies=_hundred_chunks),
    ("offset",),
)
