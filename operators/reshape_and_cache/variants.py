# SPDX-License-Identifier: Apache-2.0
"""Writing into a paged cache in ways that a checker must accept, and in ways that it must
refuse."""

import torch

from roofmark_ref import fp8

EXTRA_SHAPES = ({"tokens": 300, "kv_heads": 1, "head_size": 16, "page_size": 16},)
_ALL = ("typical", "heavy_tail", "offset")


def _write(
    slots=lambda shape, slot_mapping: slot_mapping,
    rows=lambda shape, rows: rows,
    before=lambda cache: cache.clone(),
    put=lambda flat, slots, rows: flat.index_copy_(0, slots, rows),
    applies=lambda shape: True,
):
    """The operator with parts replaced."""

    def compute(shape, key, value, key_cache, value_cache, slot_mapping):
        if not applies(shape):
            return None
        where, after = slots(shape, slot_mapping), {}
        for name, tensor, cache in (
            ("key_cache", key, key_cache),
            ("value_cache", value, value_cache),
        ):
            after[name] = before(cache)
            put(after[name].flatten(0, 1), where, rows(shape, tensor))
        return after

    return compute


def _assign(flat, slots, rows):
    flat[slots] = rows


def _scatter(flat, slots, rows):
    flat.scatter_(0, slots[:, None, None].expand_as(rows), rows)


def _in_slot_order(flat, slots, rows):
    order = torch.argsort(slots)
    flat.index_copy_(0, slots[order], rows[order])


def _gather(flat, slots, rows):
    """From the cache's side: each slot looks for its token."""
    token = torch.full((len(flat),), -1, dtype=torch.int64, device=flat.device)
    token[slots] = torch.arange(len(slots), device=flat.device)
    flat.copy_(torch.where((token >= 0)[:, None, None], rows[token.clamp(min=0)], flat))


def _as_integers(flat, slots, rows):
    flat.view(torch.int16)[slots] = rows.view(torch.int16)


HONEST = {
    "index copy": _write(),
    "assignment": _write(put=_assign),
    "scatter": _write(put=_scatter),
    "in the order of slots": _write(put=_in_slot_order),
    "from the cache's side": _write(put=_gather),
    "as 16-bit integers": _write(put=_as_integers),
}


def _all_slots(shape):
    return shape["num_pages"] * shape["page_size"]


def _exchanged(shape, key, value, **others):
    return _write()(shape, key=value, value=key, **others)


def _one_side(kept):
    """Writes only one of the two caches."""

    def compute(shape, **tensors):
        return {**_write()(shape, **tensors), kept: tensors[kept].clone()}

    return compute


def _but_last(put=_assign):
    def compute(flat, slots, rows):
        put(flat, slots[:-1], rows[:-1])

    return compute


def _part(channels):
    def compute(flat, slots, rows):
        flat[slots, :, channels] = rows[:, :, channels]

    return compute


def _last_head_missing(flat, slots, rows):
    flat[slots, :-1] = rows[:, :-1]


def _whole_pages(shape, slot_mapping):
    """The first token's page for its run, counted on from there."""
    start = slot_mapping[0] // shape["page_size"] * shape["page_size"]
    return (start + torch.arange(len(slot_mapping), device=start.device)) % _all_slots(shape)


def _in_fp8(shape, rows):
    return fp8.decode(fp8.encode(rows.float())).to(rows.dtype)


def _several(shape):
    """One token's slot may be any, the wrong one too."""
    return shape["tokens"] > 1


WRONG = {
    "zeros": (_write(before=torch.zeros_like, rows=lambda shape, rows: rows * 0), _ALL),
    "a constant": (
        _write(before=torch.ones_like, rows=lambda shape, rows: torch.ones_like(rows)),
        _ALL,
    ),
    "nothing written": (
        lambda shape, key_cache, value_cache, **_: {
            "key_cache": key_cache,
            "value_cache": value_cache,
        },
        _ALL,
    ),
    "slots and old cache ignored": (
        _write(
            before=torch.zeros_like,
            slots=lambda shape, slots: torch.arange(len(slots), device=slots.device),
        ),
        _ALL,
    ),
    "slots ignored": (
        _write(
            slots=lambda shape, slots: torch.arange(len(slots), device=slots.device),
            applies=_several,
        ),
        _ALL,
    ),
    "old cache ignored": (_write(before=torch.zeros_like), _ALL),
    "slots one off": (
        _write(slots=lambda shape, slots: (slots + 1) % _all_slots(shape)),
        _ALL,
    ),
    "pages one off": (
        _write(slots=lambda shape, slots: (slots + shape["page_size"]) % _all_slots(shape)),
        _ALL,
    ),
    "slots run on from the first": (_write(slots=_whole_pages, applies=_several), _ALL),
    "place and page exchanged": (
        _write(
            slots=lambda shape, slots: (
                slots % shape["page_size"] * shape["num_pages"] + slots // shape["page_size"]
            ),
            applies=_several,
        ),
        _ALL,
    ),
    "tokens one off": (
        _write(rows=lambda shape, rows: rows.roll(1, 0), applies=_several),
        _ALL,
    ),
    "keys and values exchanged": (_exchanged, _ALL),
    "keys only": (_one_side("value_cache"), _ALL),
    "values only": (_one_side("key_cache"), _ALL),
    "heads reversed": (
        _write(
            rows=lambda shape, rows: rows.flip(1),
            applies=lambda shape: shape["kv_heads"] > 1,
        ),
        _ALL,
    ),
    "added to the old": (
        _write(put=lambda flat, slots, rows: flat.index_add_(0, slots, rows)),
        _ALL,
    ),
    "rounded to fp8": (_write(rows=_in_fp8), _ALL),
    "last token missing": (_write(put=_but_last()), _ALL),
    "last head missing": (_write(put=_last_head_missing), _ALL),
    "last channels missing": (_write(put=_part(slice(None, -8))), _ALL),
    "every other token": (
        _write(
            put=lambda flat, slots, rows: flat.index_copy_(0, slots[::2], rows[::2]),
            applies=_several,
        ),
        _ALL,
    ),
}
