# SPDX-License-Identifier: Apache-2.0
# Every dishonest program that runs on a GPU must be refused for the right reason, every honest one
# accepted. Resumable: what redteam.jsonl holds already and was right is not judged again.
exec "${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../../../redteam/run.py" --device cuda \
  --out "$RESULTS/redteam.jsonl"
