// SPDX-License-Identifier: Apache-2.0
//
// The right answer of rms_norm in the body of a graph's conditional node.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <utility>

#include "right_norm_gpu.h"

namespace {

inline void Check(cudaError_t error) {
  if (error != cudaSuccess) std::fprintf(stderr, "graph: %s\n", cudaGetErrorString(error));
}

// A graph of one node whose body, which holds the work, runs once without being asked.
struct Body {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;

  explicit Body(const rms_norm_args& args) {
    Check(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle handle;
    Check(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams condition = {};
    condition.type = cudaGraphNodeTypeConditional;
    condition.conditional.handle = handle;
    condition.conditional.type = cudaGraphCondTypeIf;
    condition.conditional.size = 1;
    cudaGraphNode_t node = nullptr;
    Check(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &condition));
    const void* x = args.x.data;
    const void* weight = args.weight.data;
    void* out = args.out.data;
    int hidden = static_cast<int>(args.hidden);
    float eps = static_cast<float>(args.eps);
    void* arguments[] = {&x, &weight, &out, &hidden, &eps};
    cudaKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void*>(Norm);
    kernel.gridDim = dim3(static_cast<unsigned>(args.tokens));
    kernel.blockDim = dim3(32);
    kernel.kernelParams = arguments;
    Check(cudaGraphAddKernelNode(&node, condition.conditional.phGraph_out[0], nullptr, 0, &kernel));
    Check(cudaGraphInstantiate(&exec, graph, 0));
  }
};

// The graph for these operands, made when it is first asked for.
inline cudaGraphExec_t BodyFor(const rms_norm_args& args) {
  static std::map<std::pair<void*, void*>, std::unique_ptr<Body>> bodies;
  auto& body = bodies[{args.x.data, args.out.data}];
  if (body == nullptr) body = std::make_unique<Body>(args);
  return body->exec;
}

}  // namespace
