# SPDX-License-Identifier: Apache-2.0
# The GPU tests themselves: arenas, comparison, meter, provenance and clocks on this machine.
set -eu
tests=$(dirname "$ROOFMARK")/gpu_test
if [ ! -x "$tests" ]; then
  echo "no gpu_test beside $ROOFMARK: ./run build makes it, ./run bundle takes it along" >&2
  exit 3
fi
exec "$tests"
