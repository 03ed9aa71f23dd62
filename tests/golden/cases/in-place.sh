# An operator that updates tensors in place: who may change what, in each lane.
cat > right.cc << 'C'
#include <cstring>
#include "roofmark/reshape_and_cache.h"
extern "C" int run(const reshape_and_cache_args* args, void*, void*) {
  const size_t row = 2 * args->kv_heads * args->head_size;
  const auto* slots = static_cast<const int64_t*>(args->slot_mapping.data);
  for (int64_t i = 0; i < args->tokens; ++i) {
    std::memcpy(static_cast<char*>(args->key_cache.data) + slots[i] * row,
                static_cast<const char*>(args->key.data) + i * row, row);
    std::memcpy(static_cast<char*>(args->value_cache.data) + slots[i] * row,
                static_cast<const char*>(args->value.data) + i * row, row);
  }
  return 0;
}
C
sed 's/slots\[i\] \* row/i * row/g' right.cc > slots_ignored.cc
printf '#include "roofmark/reshape_and_cache.h"\nextern "C" int run(const reshape_and_cache_args*, void*, void*) { return 0; }\n' > does_nothing.cc
sed 's|  return 0;|  std::memset(args->key_cache.data, 0, 64); return 0;|' right.cc > other_rows_lost.cc
cat > function.py << 'P'
def run(key, value, key_cache, value_cache, slot_mapping):
    shape = key_cache.shape
    key_cache.view(-1, *shape[2:])[slot_mapping] = key
    value_cache.view(-1, *shape[2:])[slot_mapping] = value
P
cat > changes_in_place.py << 'P'
import torch
class Model(torch.nn.Module):
    def forward(self, key, value, key_cache, value_cache, slot_mapping):
        shape = key_cache.shape
        key_cache.view(-1, *shape[2:])[slot_mapping] = key
        value_cache.view(-1, *shape[2:])[slot_mapping] = value
P
cat > returns_new.py << 'P'
import torch
class Model(torch.nn.Module):
    def forward(self, key, value, key_cache, value_cache, slot_mapping):
        key_cache, value_cache, shape = key_cache.clone(), value_cache.clone(), key_cache.shape
        key_cache.view(-1, *shape[2:])[slot_mapping] = key
        value_cache.view(-1, *shape[2:])[slot_mapping] = value
        return key_cache, value_cache
P
sed 's/return key_cache, value_cache/return key_cache, value_cache, slot_mapping/' returns_new.py > returns_too_much.py
for candidate in right.cc slots_ignored.cc does_nothing.cc other_rows_lost.cc function.py \
  changes_in_place.py returns_new.py returns_too_much.py; do
  "$ROOFMARK" judge $candidate --operator reshape_and_cache --tier small --gate correctness \
    --store s.db --json 2> /dev/null
done | python3 -c '
import json, sys
for row in map(json.loads, sys.stdin):
    print(row["candidate"], row["shape"], row["gate"], row["outcome"])'
