# SPDX-License-Identifier: Apache-2.0
# The references of both suites, each shape once; and against PyTorch's own operators.
set -eu
for suite in published-440 production-1; do
  "$ROOFMARK" suite lint "$suite" --references --device cuda --regime typical --json \
    > "$RESULTS/references-$suite.jsonl"
done
"${ROOFMARK_PYTHON:-python3}" -B "$ROOFMARK_DATA/tests/operators/fp8_test.py"
exec "${ROOFMARK_PYTHON:-python3}" -B "$ROOFMARK_DATA/tests/operators/reference_test.py"
