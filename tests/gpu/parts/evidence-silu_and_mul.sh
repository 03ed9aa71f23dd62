# SPDX-License-Identifier: Apache-2.0
# Evidence for silu_and_mul: torch eager, torch.compile, CUDA C++, Triton; all published shapes.
exec bash "$(dirname "$0")/../judge_operator.sh" silu_and_mul
