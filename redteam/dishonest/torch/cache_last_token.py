# SPDX-License-Identifier: Apache-2.0
"""Forgets the last token."""

def run(key, value, key_cache, value_cache, slot_mapping):
    for cache, rows in ((key_cache, key), (value_cache, value)):
        flat = cache.view(-1, *cache.shape[2:])
        flat[slot_mapping[:-1]] = rows[:-1]
