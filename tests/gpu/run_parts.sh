#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the GPU tests and the evidence in named parts (parts/NAME.sh), each under 9 minutes, so that
# a machine that is lent for minutes is enough. A finished part leaves a stamp and is not run again
# unless it is named. Called by `./run gpu`, which finds the binary (ROOFMARK).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(dirname "$(dirname "$here")")
readonly LIMIT_S=540
export RESULTS=${RESULTS:-$root/results/gpu}

parts() {
  local file
  for file in "$here"/parts/*.sh; do [ ! -f "$file" ] || basename "$file" .sh; done
}

if [ "${1:-}" = list ]; then
  for part in $(parts); do
    stamp=$RESULTS/$part.done
    [ ! -f "$stamp" ] || part=$(printf '%-32s done %s' "$part" "$(cat "$stamp")")
    echo "$part"
  done
  exit 0
fi

if ! nvidia-smi --query-gpu=name --format=csv,noheader > /dev/null 2>&1; then
  cat >&2 << 'TEXT'
./run gpu: no NVIDIA GPU answers here (nvidia-smi), so nothing was run.
It needs a machine with a GPU, its driver, and Python with PyTorch and Triton there; ./run bundle
makes a folder that brings everything else. ./run gpu list names the parts.
TEXT
  exit 3
fi
if [ -z "${ROOFMARK:-}" ]; then
  echo "./run gpu: no binary; ./run build makes one, ./run bundle one to carry here" >&2
  exit 3
fi
export ROOFMARK
export ROOFMARK_REQUIRE_GPU=1
export ROOFMARK_DATA=${ROOFMARK_DATA:-$root}
export ROOFMARK_PYTHON=${ROOFMARK_PYTHON:-$(command -v python3)}
mkdir -p "$RESULTS"

# What the figures of this folder were measured on.
machine() {
  echo "date: $(date -u +%Y-%m-%d)"
  echo "gpu: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)"
  echo "cuda: $(nvidia-smi | sed -n 's/.*CUDA Version: *\([0-9.]*\).*/\1/p')"
  "$ROOFMARK_PYTHON" - << 'PY' || true
import importlib
for name in ("torch", "triton"):
    try:
        print(f"{name}: {importlib.import_module(name).__version__}")
    except ImportError:
        print(f"{name}: none")
PY
  echo "roofmark: $("$ROOFMARK" --version 2> /dev/null || echo unknown)"
}
machine > "$RESULTS/machine.txt"
cat "$RESULTS/machine.txt"

# Runs one part under its limit; returns its exit code.
run_part() {
  local part=$1 start=$SECONDS code=0
  printf '== %s\n' "$part"
  timeout --kill-after=10 "$LIMIT_S" bash "$here/parts/$part.sh" || code=$?
  if [ "$code" -eq 0 ]; then
    echo "$(date -u +%Y-%m-%d) in $((SECONDS - start)) s" > "$RESULTS/$part.done"
  elif [ "$code" -eq 124 ]; then
    echo "$part: stopped after $LIMIT_S s" >&2
  fi
  printf '== %s: exit %s after %s s\n' "$part" "$code" "$((SECONDS - start))"
  return "$code"
}

failed=0
if [ $# -gt 0 ]; then
  for part in "$@"; do
    if [ ! -f "$here/parts/$part.sh" ]; then
      echo "no part $part; ./run gpu list names them" >&2
      exit 2
    fi
    run_part "$part" || failed=1
  done
else
  for part in $(parts); do
    if [ -f "$RESULTS/$part.done" ]; then
      echo "== $part: done $(cat "$RESULTS/$part.done"); name it to run it again"
    else
      run_part "$part" || failed=1
    fi
  done
fi
exit "$failed"
