# SPDX-License-Identifier: Apache-2.0
# Evidence for block_scaled_mm: torch eager, torch.compile, CUDA C++, Triton; all published shapes.
exec bash "$(dirname "$0")/../judge_operator.sh" block_scaled_mm
