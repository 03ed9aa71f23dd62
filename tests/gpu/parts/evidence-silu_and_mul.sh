# SPDX-License-Identifier: Apache-2.0
# Evidence for silu_and_mul: torch eager, torch.compile, CUDA C++ and Triton on all published shapes.
exec bash "$(dirname "$0")/../judge_operator.sh" silu_and_mul
