# Right answers are asked for again: other bits are reported, now and then a wrong one is refused.
cp "$DATA/candidates/rms_norm/rms_norm_naive.cc" same_bits.cc
# The second call of two rounds towards zero: other bits, well within the tolerance.
sed 's|^extern "C" int run.*|static int calls = 0;\n&\n  const bool down = ++calls % 2 == 0;|
     s|ToBf16(value \* factor|(down ? ToBf16Down : ToBf16)(value * factor|
     s|^}  // namespace|uint16_t ToBf16Down(float v) { uint32_t b; std::memcpy(\&b, \&v, 4); return b >> 16; }\n&|' \
  same_bits.cc > other_bits.cc
# One call in three forgets its last element, but none of the first calls does.
sed 's|^extern "C" int run.*|static int calls = 0;\n&|
     s|^  return 0;|  if (++calls > 6 \&\& calls % 3 == 1) out[args->tokens * args->hidden - 1] = 0;\n&|' \
  same_bits.cc > now_and_then.cc
# The same in calls that the machine disturbs, by crashing.
sed 's|^extern "C" int run.*|static int calls = 0;\n&\n  if (++calls > 6) std::abort();|; s|#include <cmath>|&\n#include <cstdlib>|' \
  same_bits.cc > late_crash.cc
"$ROOFMARK" judge same_bits.cc other_bits.cc now_and_then.cc late_crash.cc --operator rms_norm \
  --tier small --shape s-prefill --gate correctness --store s.db --json 2> /dev/null | python3 -c '
import json, sys
for row in map(json.loads, sys.stdin):
    reason = row["reason"].split("; first")[0].split("\n")[0]
    print(row["candidate"], row["outcome"], row["deterministic"], reason)'
