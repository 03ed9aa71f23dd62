# SPDX-License-Identifier: Apache-2.0
# Every dishonest CUDA candidate must be refused, for one of the reasons that its first lines name.
exec "${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../expect_refusal.py" cuda \
  "$RESULTS/dishonest.jsonl"
