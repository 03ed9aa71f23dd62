# SPDX-License-Identifier: Apache-2.0
# The readiness of a kernel, its replays as a CUDA graph, and kernels that are unfit. (A kernel
# against itself is the part aa-40.) Leaves ready.txt, graph.jsonl and unfit.txt. Under 4 minutes on
# an H200.
set -eu
candidates=$ROOFMARK_DATA/candidates
silu=$candidates/silu_and_mul
"$ROOFMARK" judge "$silu/cuda.cu" --against "$silu/torch_eager.py" --operator silu_and_mul --quick \
  --device cuda --tier published --store "$RESULTS/against.db" --require ready \
  | tee "$RESULTS/ready.txt" || true
grep -q '^cuda on .*: ready' "$RESULTS/ready.txt" ||
  echo "silu_and_mul/cuda.cu is not ready: see ready.txt"
# Every lane that runs on a GPU, eager and as a graph.
for file in cuda.cu triton.py torch_eager.py; do
  "$ROOFMARK" judge "$silu/$file" --operator silu_and_mul --quick --mode graph --device cuda \
    --tier published --store "$RESULTS/against.db" --json 2> /dev/null || true
done > "$RESULTS/graph.jsonl"
"$ROOFMARK" score --store "$RESULTS/against.db" --operator silu_and_mul --mode graph || true
unfit=0
"${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../unfit.py" "$ROOFMARK" "$candidates" \
  "$RESULTS/unfit" | tee "$RESULTS/unfit.txt" || unfit=1
! grep -q WRONG "$RESULTS/unfit.txt" || unfit=1
[ "$unfit" -eq 0 ]
