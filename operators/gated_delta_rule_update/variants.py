# SPDX-License-Identifier: Apache-2.0
"""The gated delta rule computed in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import gated_delta
from roofmark_ref.mistakes import replaced, zeroed

EXTRA_SHAPES = (
    {
        "lens": [1],
        "query_heads": 2,
        "value_heads": 4,
        "key_dim": 128,
        "value_dim": 128,
        "slots": 2,
    },
)
_ALL = ("typical", "heavy_tail", "offset")
_ELEMENTS = 1 << 24
_LOOPED = 600  # tokens of a sequence up to which variants go token by token


def _tf32(x):
    """Rounded to 10 bits after the point, as matrix units take float32."""
    bits = x.to(torch.float32).view(torch.int32)
    return ((bits + 0x1000) & ~0x1FFF).view(torch.float32).to(x.dtype)


def _through(dtype):
    return lambda x: x.to(dtype).to(x.dtype)


def _unit(x, eps):
    return x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps)


def _eps_outside(x, eps):
    return x / (x.pow(2).sum(-1, keepdim=True).sqrt() + eps)


def _by_group(head, query_heads):
    return head // (len(head) // query_heads)


def _chunked(state, q, k, v, beta, g, take):
    """A chunk in the WY form; `take` rounds what a matrix unit would be given."""
    total = g.cumsum(-1)
    decay = gated_delta.decay_between(total)
    begun = torch.exp(total)[..., None]
    u = gated_delta.solve_chunk(
        k, beta, decay, beta[..., None] * (v - begun * (take(k) @ take(state)))
    )
    out = begun * (take(q) @ take(state)) + take(decay * (q @ k.transpose(-1, -2))) @ take(u)
    left = torch.exp(total[..., -1:] - total)[..., None]
    return out, begun[..., -1:, :] * state + take(k * left).transpose(-1, -2) @ take(u)


def _no_correction(state, q, k, v, beta, g, take):
    """Plain gated linear attention: the value itself is written, not what is missing of it."""
    total = g.cumsum(-1)
    begun, u = torch.exp(total)[..., None], beta[..., None] * v
    decay = gated_delta.decay_between(total)
    out = begun * (q @ state) + (decay * (q @ k.transpose(-1, -2))) @ u
    left = torch.exp(total[..., -1:] - total)[..., None]
    return out, begun[..., -1:, :] * state + (k * left).transpose(-1, -2) @ u


def _looped(keep, read=lambda before, decayed, after: after, predict=None):
    """Token by token. `keep` rounds the state after each token, `read` picks the one that out
    reads, `predict` the one that the prediction comes from."""

    def chunk(state, q, k, v, beta, g, take):
        out = torch.empty_like(v)
        for t in range(v.shape[2]):
            decayed = state * torch.exp(g[:, :, t])[..., None, None]
            known = predict(state, decayed) if predict else decayed
            u = beta[:, :, t, None] * (v[:, :, t] - (k[:, :, t, None] @ known)[:, :, 0])
            after = keep(decayed + k[:, :, t, :, None] * u[:, :, None, :])
            out[:, :, t] = (q[:, :, t, None] @ read(state, decayed, after))[:, :, 0]
            state = after
        return out, state

    chunk.loops = True
    return chunk


def _rule(
    dtype=torch.float64,
    chunk=32,
    form=_chunked,
    take=lambda x: x,
    norm=_unit,
    scale=lambda key_dim: key_dim**-0.5,
    heads=_by_group,
    applies=lambda shape: True,
    change=None,
    finish=lambda shape, given, got: got,
):
    """The whole operator with parts replaced; `change` alters the inputs, `finish` the outputs."""

    def compute(shape, **given):
        if not applies(shape) or (hasattr(form, "loops") and max(shape["lens"]) > _LOOPED):
            return None
        got = run(shape, **(change(shape, dict(given)) if change else given))
        return finish(shape, given, got)

    def run(shape, A_log, a, dt_bias, q, k, v, b, state, state_indices, cu_seqlens):
        eps, starts, device = shape["eps"], cu_seqlens.tolist(), v.device
        lens = [end - start for start, end in zip(starts, starts[1:])]
        source = heads(torch.arange(v.shape[1], device=device), q.shape[1])
        step = min(chunk, max(lens))
        out, after = torch.empty_like(v), state.clone()
        size = v.shape[1] * (q.shape[2] + step) * (v.shape[2] + 2 * step)
        for seqs in gated_delta.batches(lens, max(1, _ELEMENTS // size)):
            slot = state_indices[torch.tensor(seqs, device=device)].long()
            now = state[slot].to(dtype)
            for at in range(0, lens[seqs[0]], step):
                live = [s for s in seqs if lens[s] > at]
                begin = [starts[s] + at for s in live]
                end = [min(starts[s + 1], first + step) for s, first in zip(live, begin)]
                rows, real = gated_delta.chunk_rows(begin, end, step, device)
                there = real[..., None].to(dtype)
                beta = torch.sigmoid(b[rows].to(dtype)) * there
                dt = a[rows].to(dtype) + dt_bias.to(dtype)
                g = -torch.exp(A_log.to(dtype)) * torch.logaddexp(dt, torch.zeros_like(dt)) * there
                got, now[: len(live)] = form(
                    now[: len(live)],
                    norm(q[rows].to(dtype), eps)[:, :, source].transpose(1, 2),
                    norm(k[rows].to(dtype), eps)[:, :, source].transpose(1, 2),
                    v[rows].to(dtype).transpose(1, 2),
                    beta.transpose(1, 2),
                    g.transpose(1, 2),
                    take,
                )
                got = got * scale(q.shape[2])
                out[rows[real]] = got.transpose(1, 2)[real].to(torch.bfloat16)
            after[slot] = now.to(torch.float32)
        return {"out": out, "state": after}

    return compute


HONEST = {
    "float64": _rule(),
    "float32, token by token": _rule(torch.float32, form=_looped(lambda state: state)),
    "float32 in chunks of 16": _rule(torch.float32, chunk=16),
    "float32 in chunks of 64, eps outside the root": _rule(
        torch.float32, chunk=64, norm=_eps_outside
    ),
    "operands in tf32": _rule(torch.float32, chunk=64, take=_tf32),
    "operands in float16": _rule(torch.float32, chunk=16, take=_through(torch.float16)),
}


def _set(**values):
    """Inputs replaced: each value is a function of the shape and the inputs."""

    def change(shape, given):
        return {**given, **{name: value(shape, given) for name, value in values.items()}}

    return change


def _own(shape, given):
    """The slots in the order of the sequences."""
    return given["state_indices"].long()


def _others_lost(shape, given, got):
    kept = torch.zeros_like(got["state"])
    kept[_own(shape, given)] = got["state"][_own(shape, given)]
    return kept


def _in_order(shape, given, got):
    kept = given["state"].clone()
    kept[: shape["seqs"]] = got["state"][_own(shape, given)]
    return kept


def _last_state_stale(shape, given, got):
    state = got["state"].clone()
    state[_own(shape, given)[-1]] = given["state"][_own(shape, given)[-1]]
    return state


def _only_decayed(shape, given, got):
    """The state as if nothing had been written: the decays of all tokens and no more."""
    dt = given["a"].float() + given["dt_bias"].float()
    g = -torch.exp(given["A_log"]) * torch.logaddexp(dt, torch.zeros_like(dt))
    total = torch.cat([torch.zeros_like(g[:1]), g.double().cumsum(0)])
    starts = given["cu_seqlens"].long()
    left = torch.exp(total[starts[1:]] - total[starts[:-1]]).float()
    state = given["state"].clone()
    state[_own(shape, given)] *= left[..., None, None]
    return state


def _flat(shape, given):
    """One sequence of all tokens, in the first one's slot."""
    return torch.stack([given["cu_seqlens"][0], given["cu_seqlens"][-1]])


def _several(shape):
    return shape["seqs"] > 1


def _grouped(shape):
    return 1 < shape["query_heads"] < shape["value_heads"]


def _two_tokens(shape):
    return max(shape["lens"]) > 1


def _many_tokens(shape):
    """Where matrix units would be used."""
    return max(shape["lens"]) >= 64


def _plain(x, eps):
    return x


WRONG = {
    "zeros": (
        _rule(
            finish=replaced(
                out=lambda shape, given, got: torch.zeros_like(got["out"]),
                state=lambda shape, given, got: torch.zeros_like(got["state"]),
            )
        ),
        _ALL,
    ),
    "nothing done": (
        lambda shape, v, state, **_: {"out": torch.zeros_like(v), "state": state},
        _ALL,
    ),
    "out is zeros": (
        _rule(finish=replaced(out=lambda shape, given, got: torch.zeros_like(got["out"]))),
        _ALL,
    ),
    "out is a constant": (
        _rule(finish=replaced(out=lambda shape, given, got: torch.full_like(got["out"], 0.01))),
        _ALL,
    ),
    "out is v": (_rule(finish=replaced(out=lambda shape, given, got: given["v"])), _ALL),
    "state not written": (
        _rule(finish=replaced(state=lambda shape, given, got: given["state"])),
        _ALL,
    ),
    "state only decayed": (_rule(finish=replaced(state=_only_decayed)), _ALL),
    "last state stale": (_rule(finish=replaced(state=_last_state_stale)), _ALL),
    "other slots lost": (_rule(finish=replaced(state=_others_lost)), _ALL),
    "states written in order": (_rule(finish=replaced(state=_in_order)), _ALL),
    "state indices ignored": (
        _rule(
            change=_set(
                state_indices=lambda shape, given: torch.arange(
                    shape["seqs"], dtype=torch.int32, device=given["v"].device
                )
            )
        ),
        _ALL,
    ),
    "states start at zero": (
        _rule(
            change=_set(
                state=lambda shape, given: zeroed(given["state"], _own(shape, given)),
            )
        ),
        ("typical", "offset"),
    ),
    "sequences run together": (
        _rule(
            change=_set(
                cu_seqlens=_flat, state_indices=lambda s, given: given["state_indices"][:1]
            ),
            applies=_several,
        ),
        _ALL,
    ),
    "no decay": (
        _rule(change=_set(A_log=lambda shape, given: given["A_log"] - 1e4)),
        _ALL,
    ),
    "decay rate not exponentiated": (
        _rule(
            change=_set(A_log=lambda shape, given: torch.log(given["A_log"].abs() + 1e-3)),
        ),
        _ALL,
    ),
    "dt_bias dropped": (
        _rule(change=_set(dt_bias=lambda shape, given: given["dt_bias"] * 0)),
        _ALL,
    ),
    "a dropped": (_rule(change=_set(a=lambda shape, given: given["a"] * 0)), _ALL),
    "full strength": (
        _rule(change=_set(b=lambda shape, given: given["b"] * 0 + 40.0)),
        _ALL,
    ),
    "half strength": (_rule(change=_set(b=lambda shape, given: given["b"] * 0)), _ALL),
    "no correction": (_rule(form=_no_correction), _ALL),
    "predicted before the decay": (
        _rule(form=_looped(lambda s: s, predict=lambda before, decayed: before)),
        _ALL,
    ),
    "out before the update": (
        _rule(form=_looped(lambda s: s, read=lambda before, decayed, after: decayed)),
        _ALL,
    ),
    "no norm": (_rule(torch.float64, form=_looped(lambda s: s), norm=_plain), ("typical",)),
    "no scale": (_rule(scale=lambda key_dim: 1.0), _ALL),
    "scale of another head size": (_rule(scale=lambda key_dim: (2 * key_dim) ** -0.5), _ALL),
    "q and k swapped": (
        _rule(change=lambda shape, given: {**given, "q": given["k"], "k": given["q"]}),
        _ALL,
    ),
    "heads dealt in turn": (
        _rule(heads=lambda head, query_heads: head % query_heads, applies=_grouped),
        _ALL,
    ),
    "first query head for all": (
        _rule(heads=lambda head, query_heads: head * 0, applies=_grouped),
        _ALL,
    ),
    "half of the key's channels": (
        _rule(
            change=_set(
                k=lambda shape, given: zeroed(given["k"], ..., slice(shape["key_dim"] // 2, None))
            )
        ),
        _ALL,
    ),
    "last token missing": (
        _rule(finish=replaced(out=lambda shape, given, got: zeroed(got["out"], -1))),
        _ALL,
    ),
    "last channels missing": (
        _rule(
            finish=replaced(out=lambda shape, given, got: zeroed(got["out"], ..., slice(-8, None)))
        ),
        _ALL,
    ),
    "last channels of the state stale": (
        _rule(
            finish=replaced(
                state=lambda shape, given, got: torch.cat(
                    [got["state"][..., :-8], given["state"][..., -8:]], -1
                )
            )
        ),
        _ALL,
    ),
    "tokens one off": (
        _rule(
            change=_set(v=lambda shape, given: given["v"].roll(1, 0)),
            applies=lambda shape: shape["total"] > 1,
        ),
        _ALL,
    ),
    "state rounded to bf16": (
        _rule(
            finish=replaced(
                state=lambda shape, given, got: got["state"].to(torch.bfloat16).float(),
            )
        ),
        _ALL,
    ),
    "own states rounded to bf16": (
        _rule(
            finish=replaced(
                state=lambda shape, given, got: got["state"].index_put(
                    (_own(shape, given),),
                    got["state"][_own(shape, given)].to(torch.bfloat16).float(),
                )
            )
        ),
        ("typical", "offset"),
    ),
    "state kept in bf16": (
        _rule(torch.float32, form=_looped(_through(torch.bfloat16)), applies=_two_tokens),
        _ALL,
    ),
    "operands in bf16": (
        _rule(torch.float32, chunk=64, take=_through(torch.bfloat16), applies=_many_tokens),
        _ALL,
    ),
}
