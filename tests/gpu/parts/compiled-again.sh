# SPDX-License-Identifier: Apache-2.0
# Triton's cache against Triton itself: planted machine code is refused, honest code is the same.
exec "${ROOFMARK_PYTHON:-python3}" "$(dirname "$0")/../compiled_again.py"
