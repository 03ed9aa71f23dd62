// SPDX-License-Identifier: Apache-2.0
//
// silu_and_mul as a CUDA graph of two kernel nodes, instantiated once in init. Each call puts its
// own addresses into the nodes and launches the graph on the given stream.

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 1056;

__global__ void Activate(const __nv_bfloat16* x, float* silu, int64_t rows, int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * width; i += step) {
    const float gate = __bfloat162float(x[i / width * 2 * width + i % width]);
    silu[i] = gate / (1.0f + __expf(-gate));
  }
}

__global__ void Multiply(const __nv_bfloat16* x, const float* silu, __nv_bfloat16* out,
                         int64_t rows, int64_t width) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows * width; i += step) {
    const float value = __bfloat162float(x[i / width * 2 * width + width + i % width]);
    out[i] = __float2bfloat16_rn(silu[i] * value);
  }
}

struct Values {
  const __nv_bfloat16* x = nullptr;
  float* silu = nullptr;
  __nv_bfloat16* out = nullptr;
  int64_t rows = 0;
  int64_t width = 0;
};

struct Nodes {
  cudaGraphExec_t graph = nullptr;
  cudaGraphNode_t first = nullptr;
  cudaGraphNode_t second = nullptr;
};
Nodes nodes;

cudaKernelNodeParams Launch(void* kernel, void** arguments) {
  cudaKernelNodeParams params = {};
  params.func = kernel;
  params.gridDim = dim3(kBlocks);
  params.blockDim = dim3(kThreads);
  params.kernelParams = arguments;
  return params;
}

}  // namespace

extern "C" int64_t workspace_bytes(const silu_and_mul_args* shape) {
  return shape->rows * shape->width * static_cast<int64_t>(sizeof(float));
}

extern "C" int init(const silu_and_mul_args*) {
  Values v;
  void* first[] = {&v.x, &v.silu, &v.rows, &v.width};
  void* second[] = {&v.x, &v.silu, &v.out, &v.rows, &v.width};
  const cudaKernelNodeParams activate = Launch(reinterpret_cast<void*>(&Activate), first);
  const cudaKernelNodeParams multiply = Launch(reinterpret_cast<void*>(&Multiply), second);
  cudaGraph_t graph = nullptr;
  nodes = Nodes();
  if (cudaGraphCreate(&graph, 0) != cudaSuccess) return 1;
  if (cudaGraphAddKernelNode(&nodes.first, graph, nullptr, 0, &activate) != cudaSuccess) return 1;
  if (cudaGraphAddKernelNode(&nodes.second, graph, &nodes.first, 1, &multiply) != cudaSuccess) {
    return 1;
  }
  return cudaGraphInstantiate(&nodes.graph, graph, 0) == cudaSuccess ? 0 : 1;
}

extern "C" int run(const silu_and_mul_args* args, void* workspace, void* stream) {
  Values v = {static_cast<const __nv_bfloat16*>(args->x.data), static_cast<float*>(workspace),
              static_cast<__nv_bfloat16*>(args->out.data), args->rows, args->width};
  void* first[] = {&v.x, &v.silu, &v.rows, &v.width};
  void* second[] = {&v.x, &v.silu, &v.out, &v.rows, &v.width};
  const cudaKernelNodeParams activate = Launch(reinterpret_cast<void*>(&Activate), first);
  const cudaKernelNodeParams multiply = Launch(reinterpret_cast<void*>(&Multiply), second);
  if (cudaGraphExecKernelNodeSetParams(nodes.graph, nodes.first, &activate) != cudaSuccess ||
      cudaGraphExecKernelNodeSetParams(nodes.graph, nodes.second, &multiply) != cudaSuccess) {
    return 1;
  }
  return cudaGraphLaunch(nodes.graph, static_cast<cudaStream_t>(stream)) == cudaSuccess ? 0 : 1;
}
