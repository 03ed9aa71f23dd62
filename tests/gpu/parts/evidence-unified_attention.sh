# SPDX-License-Identifier: Apache-2.0
# Evidence for unified_attention: torch eager and compile, CUDA C++, Triton; published shapes.
exec bash "$(dirname "$0")/../judge_operator.sh" unified_attention
