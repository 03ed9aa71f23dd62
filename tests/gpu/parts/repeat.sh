# SPDX-License-Identifier: Apache-2.0
# The same honest candidates judged twice, in separate processes: medians of shapes over 10 us must
# agree within 2 %.
set -eu
for run in 1 2; do
  for operator in rms_norm silu_and_mul block_scaled_mm unified_attention; do
    "$ROOFMARK" judge "$ROOFMARK_DATA/candidates/$operator"/cuda* --operator "$operator" --quick \
      --device cuda --tier published --store "$RESULTS/repeat.db" --json
  done > "$RESULTS/repeat-$run.jsonl" || [ $? -le 1 ]
done
exec "${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../compare_repeat.py" \
  "$RESULTS/repeat-1.jsonl" "$RESULTS/repeat-2.jsonl"
