// SPDX-License-Identifier: Apache-2.0
#pragma once

__device__ __forceinline__ float Silu(float gate) {
  return gate / (1.0f + __expf(-gate));
}
