#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The main job, end to end, on a machine without a GPU: recorded profiles of a fleet become weighted
# workloads, kernels are judged on this CPU, and one report says what was found.
#     examples/demo.sh BINARY OUT      (called by `./run demo`)
set -euo pipefail
roofmark=$1
out=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
candidates=$here/../candidates
mkdir -p "$out"
rm -rf "$out"/roofmark.db* "$out/optimized"  # a demo starts from nothing
SECONDS=0

step() { printf '\n[%3d s] %s\n' "$SECONDS" "$*"; }

# Refused candidates end in 1, which is what some steps are here to show.
judge() { "$roofmark" judge "$@" --device cpu --store "$out/roofmark.db" || [ $? -eq 1 ]; }

step "mine: what the fleet of examples/profiles/manifest.csv spends its GPU time on"
"$roofmark" mine "$here/profiles/manifest.csv" -o "$out/fleet.json"

step "suite: the aggregate becomes weights of workloads"
"$roofmark" suite build "$out/fleet.json" -o "$out/suite.json" | tee "$out/suite.txt"

step "roofline: how fast an H200 could do them at best"
"$roofmark" roofline --operator rms_norm --shape 0,1,2 --device H200

step "calibrate: the ceilings of this machine's CPU"
"$roofmark" calibrate --device cpu -o "$out/this-cpu.toml"

for operator in rms_norm silu_and_mul block_scaled_mm unified_attention; do
  step "judge: $operator, a C++ kernel beside PyTorch"
  judge "$candidates/$operator"/*.cc "$candidates/$operator/torch_eager.py" \
    --operator "$operator" --tier small --quick --card "$out/this-cpu.toml"
done

step "judge: kernels that cheat, crash or hang must be refused, and the next is judged as ever"
cheats=()
for name in cached_answer crash hang memory_hog mutates_input out_of_bounds prints_verdict \
  works_after_return writes_nothing wrong_tail; do
  cheats+=("$here/../redteam/dishonest/cpp/$name.cc")
done
judge "${cheats[@]}" "$candidates/rms_norm/rms_norm.cc" --operator rms_norm \
  --shape s-prefill --quick --timeout 3 --card "$out/this-cpu.toml"

step "optimize: a naive kernel, improved by search and promoted only on a paired test"
"$roofmark" optimize "$candidates/rms_norm/rms_norm_naive.cc" --operator rms_norm --budget 15 \
  -o "$out/optimized" --store "$out/roofmark.db"

step "report"
"$roofmark" report --store "$out/roofmark.db" --aggregate "$out/fleet.json" \
  --card "$out/this-cpu.toml" -o "$out"

step "found:"
grep 'mined workloads' "$out/suite.txt"
sed -n '3s/\*//gp' "$out/report.md"
echo "The report: $out/report.html (also report.md and report.json there)"
