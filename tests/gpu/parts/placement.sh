# SPDX-License-Identifier: Apache-2.0
# How the times of two memory-bound kernels depend on where their operands begin.
set -eu
"${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../placement.py" "$RESULTS/placement.jsonl" \
  > "$RESULTS/placement.txt"
cat "$RESULTS/placement.txt"
