# SPDX-License-Identifier: Apache-2.0
# A kernel against itself, forty times: none may be called faster or slower, and its attainment
# repeats (1 % over 10 us, 5 % from 2 to 10 us). Then the readiness of a kernel, and its replays as
# a CUDA graph. Leaves aa.jsonl, aa.txt, ready.txt, graph.jsonl and unfit.txt. Under 8 minutes
# on an H200.
set -eu
candidates=$ROOFMARK_DATA/candidates
rms=$candidates/rms_norm/cuda.cu
: > "$RESULTS/aa.jsonl"
begin=$SECONDS
for run in $(seq 40); do
  # A machine that is slower than thought leaves fewer runs, and aa.txt says how many.
  [ $((SECONDS - begin)) -lt 240 ] || break
  "$ROOFMARK" judge "$rms" --against "$rms" --operator rms_norm --quick --device cuda \
    --tier published --store "$RESULTS/aa.db" --json 2> /dev/null |
    sed "s/^{/{\"run\": $run, /" >> "$RESULTS/aa.jsonl" || true
done
"${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../aa_table.py" "$RESULTS/aa.jsonl" \
  | tee "$RESULTS/aa.txt"

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
[ "$unfit" -eq 0 ] && ! grep -q 'called different: [1-9]' "$RESULTS/aa.txt"
