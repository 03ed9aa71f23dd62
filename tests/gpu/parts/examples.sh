# SPDX-License-Identifier: Apache-2.0
# Every honest candidate that a GPU can run, on three telling shapes each; a file that ends the
# judge does not end the part. Prints a line for each, with the first refusal's reason.
set -u
here=$(dirname "$0")/..
: > "$RESULTS/examples.jsonl"
faults=0
for folder in "$ROOFMARK_DATA"/candidates/*/; do
  [ "$(basename "$folder")" != dishonest ] || continue
  [ -e "$ROOFMARK_DATA/operators/$(basename "$folder")" ] || continue
  mapfile -t files < <(find "$folder" -mindepth 1 -maxdepth 1 \
    \( -name '*.cu' -o -name '*.py' -o -type d ! -name __pycache__ \) | sort)
  [ "${#files[@]}" -gt 0 ] || continue
  code=0
  "$ROOFMARK" judge "${files[@]}" --device cuda --quick --json --store "$RESULTS/examples.db" \
    >> "$RESULTS/examples.jsonl" || code=$?
  if [ "$code" -gt 1 ]; then
    echo "FAULT $(basename "$folder"): roofmark judge ended with $code"
    faults=$((faults + 1))
  fi
done
"${ROOFMARK_PYTHON:-python3}" "$here/summarise.py" "$RESULTS/examples.jsonl"
[ "$faults" -eq 0 ]
