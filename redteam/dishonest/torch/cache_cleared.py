# SPDX-License-Identifier: Apache-2.0
"""Clears the slots that no token names."""

def run(key, value, key_cache, value_cache, slot_mapping):
    for cache, rows in ((key_cache, key), (value_cache, value)):
        flat = cache.view(-1, *cache.shape[2:])
        flat.zero_()
        flat[slot_mapping] = rows
