# SPDX-License-Identifier: Apache-2.0
# The judge's times of honest CUDA candidates against ncu's durations, on this machine and now.
set -eu
if ! command -v ncu > /dev/null; then
  echo "there is no ncu here, so its durations are not compared"
  exit 0
fi
for operator in rms_norm silu_and_mul block_scaled_mm unified_attention; do
  "$ROOFMARK" judge "$ROOFMARK_DATA/candidates/$operator"/cuda* --operator "$operator" --quick \
    --device cuda --tier published --store "$RESULTS/ncu.db" --json || [ $? -le 1 ]
done > "$RESULTS/ncu-verdicts.jsonl"
exec "${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../ncu_agreement.py" "$RESULTS/ncu.jsonl" \
  "$RESULTS/ncu-verdicts.jsonl"
