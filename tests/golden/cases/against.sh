# A candidate against a baseline. Times vary, so the claims are those that hold on any machine: a
# kernel is never faster or slower than itself, and one that is several times faster is never called
# slower; without a baseline that passes there is no number.
cat > show.py << 'P'
import json, sys
wrong = sys.argv[1].split(",")
for line in sys.stdin:
    one = json.loads(line)
    if "comparison" not in one:
        continue
    assert set(one) >= {"operator", "shape", "phase", "candidate", "baseline", "ratio", "blocks"}
    said = "not " + " or ".join(wrong) if one["comparison"] not in wrong else one["comparison"]
    if one["comparison"] == "none" and not any(
        busy in one["reason"] for busy in (": unstable", ": clocks_disagree")
    ):
        said = "none: " + one["reason"]
        assert one["ratio"] is None
    elif one["comparison"] != "none":
        ratio = one["ratio"]
        assert 0 < ratio["low"] <= ratio["median"] <= ratio["high"], one
    kind = "total" if one["total"] else "line"
    print(kind, one["shape"], one["candidate"], "against", one["baseline"], said)
P
judge() { "$ROOFMARK" judge --operator rms_norm --shape s-one-row --store s.db --quick --json "$@" 2> err.txt; }
RMS=$DATA/candidates/rms_norm
cat > wrong.cc << 'C'
#include "roofmark/rms_norm.h"
extern "C" int run(const rms_norm_args*, void*, void*) { return 0; }
C
echo "== a kernel against itself"
judge "$RMS/rms_norm.cc" --against "$RMS/rms_norm.cc" | python3 show.py faster,slower
echo "== a fast one against a slow one"
judge "$RMS/rms_norm.cc" --against "$RMS/rms_norm_naive.cc" | python3 show.py slower
echo "== against one that is wrong"
judge "$RMS/rms_norm.cc" --against wrong.cc > lines.jsonl
echo "exit code $?"
python3 show.py slower < lines.jsonl
echo "== a wrong one against one that is right"
judge wrong.cc --against "$RMS/rms_norm.cc" > lines.jsonl
echo "exit code $?"
python3 show.py faster < lines.jsonl
echo "== what cannot be compared"
"$ROOFMARK" judge --operator rms_norm --gate correctness "$RMS/rms_norm.cc" --against "$RMS/rms_norm.cc"
echo "exit code $?"
"$ROOFMARK" judge "$RMS/rms_norm.cc" --against "$DATA/candidates/silu_and_mul/silu_and_mul.cc"
