# SPDX-License-Identifier: Apache-2.0
"""Returns caches of its own that hold this step's tokens only."""

import torch


class Model:
    def __call__(self, key, value, key_cache, value_cache, slot_mapping):
        fresh = []
        for cache, rows in ((key_cache, key), (value_cache, value)):
            new = torch.zeros_like(cache)
            new.view(-1, *cache.shape[2:])[slot_mapping] = rows
            fresh.append(new)
        return fresh
