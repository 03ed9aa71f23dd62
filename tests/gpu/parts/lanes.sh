# SPDX-License-Identifier: Apache-2.0
# The features that lanes promise: each candidate of tests/gpu/lanes on three telling shapes of
# silu_and_mul, all of them `passed`; and one of each other language, passed or, where its compiler
# is not installed, `unsupported`.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=$RESULTS/lanes.jsonl
: > "$out"
judge() {  # CANDIDATE OUTCOME...
  local candidate=$1 code=0
  shift
  "$ROOFMARK" judge "$candidate" --operator silu_and_mul --device cuda --quick \
    --store "$RESULTS/lanes.db" --json > "$RESULTS/lanes.one" || code=$?
  [ "$code" -le 1 ] || { echo "$candidate: exit $code"; return 1; }
  cat "$RESULTS/lanes.one" >> "$out"
  "${ROOFMARK_PYTHON:-python3}" - "$candidate" "$RESULTS/lanes.one" "$@" << 'PY'
import json, os, sys
name, path, wanted = os.path.basename(sys.argv[1]), sys.argv[2], sys.argv[3:]
verdicts = [json.loads(line) for line in open(path)]
bad = [v for v in verdicts if v["outcome"] not in wanted]
for v in verdicts:
    reason = v["reason"].split("\n")[0][:120]
    print("%-20s %-22s %-12s %s" % (name, v["shape"], v["outcome"], reason))
sys.exit(1 if bad or not verdicts else 0)
PY
}
failed=0
for candidate in "$here"/lanes/*.cu "$here"/lanes/nvrtc "$here"/lanes/cub; do
  judge "$candidate" passed || failed=1
done
for lane in triton gluon cutedsl tilelang; do
  candidate=$ROOFMARK_DATA/candidates/silu_and_mul/$lane.py
  [ -f "$candidate" ] || continue
  judge "$candidate" passed unsupported || failed=1
done
judge "$ROOFMARK_DATA/candidates/silu_and_mul/flydsl.py" unsupported || failed=1
exit "$failed"
