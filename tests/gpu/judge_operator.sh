# SPDX-License-Identifier: Apache-2.0
# Judges the baselines and honest candidates of one operator ($1) side by side on every published
# shape that fits, and keeps the verdicts with their samples.
set -eu
operator=$1
candidates=$ROOFMARK_DATA/candidates/$operator
code=0
"$ROOFMARK" judge "$candidates/torch_eager.py" "$candidates/torch_compile.py" \
  "$candidates"/cuda* "$candidates/triton.py" --operator "$operator" --device cuda \
  --tier published --store "$RESULTS/evidence.db" --json > "$RESULTS/$operator.jsonl" || code=$?
# 1 says that a candidate was refused somewhere: that is evidence too. Anything else is a fault.
[ "$code" -le 1 ]
wc -l "$RESULTS/$operator.jsonl"
