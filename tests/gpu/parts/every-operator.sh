# SPDX-License-Identifier: Apache-2.0
# One honest candidate for each operator (every_operator.txt) on all published shapes, in one
# process: verdicts and, as the last line, where the time went. Meant to stay within 6 minutes.
set -eu
here=$(dirname "$0")/..
mapfile -t files < <(grep -v '^#' "$here/every_operator.txt" |
  while read -r _ file; do echo "$ROOFMARK_DATA/candidates/$file"; done)
start=$SECONDS
code=0
"$ROOFMARK" judge "${files[@]}" --device cuda --tier published --timings --json \
  --store "$RESULTS/every-operator.db" > "$RESULTS/every-operator.jsonl" || code=$?
echo "every operator: $((SECONDS - start)) s, exit code $code"
"${ROOFMARK_PYTHON:-python3}" "$here/summarise.py" "$RESULTS/every-operator.jsonl"
tail -n 1 "$RESULTS/every-operator.jsonl"
# 1 says that a candidate was refused somewhere: the table says which. Anything else is a fault.
[ "$code" -le 1 ]
