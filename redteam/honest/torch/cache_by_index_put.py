# SPDX-License-Identifier: Apache-2.0
"""Writes both caches by index_put, in place, and returns nothing."""

def run(key, value, key_cache, value_cache, slot_mapping):
    for cache, rows in ((key_cache, key), (value_cache, value)):
        flat = cache.view(-1, *cache.shape[2:])
        flat.index_put_((slot_mapping,), rows)
