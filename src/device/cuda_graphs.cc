// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_graphs.h"

#include "base/check.h"

namespace roofmark::device {

Result<void> CudaGraphs::Capture(const std::string& key, cu::Stream stream,
                                 const std::function<Result<void>()>& call) {
  const std::string what = "run cannot be captured in a CUDA graph: ";
  TRY(api_.Check(api_.stream_begin_capture(stream, cu::kCaptureGlobal), "beginning a capture"));
  const Result<void> ran = call();
  cu::Graph graph = nullptr;
  // Ends the capture also where the call failed: the stream would stay in it.
  const cu::Status ended = api_.stream_end_capture(stream, &graph);
  size_t nodes = 0;
  cu::Status counted = cu::kSuccess;
  cu::Status made = cu::kSuccess;
  cu::GraphExec executable = nullptr;
  if (ended == cu::kSuccess && graph != nullptr) {
    counted = api_.graph_get_nodes(graph, nullptr, &nodes);
    if (ran && counted == cu::kSuccess && nodes > 0) {
      made = api_.graph_instantiate(&executable, graph, 0);
    }
    api_.graph_destroy(graph);
  }
  if (!ran) return Fail(ErrorKind::kInput, what + ran.error().message());
  for (const cu::Status status : {ended, counted, made}) {
    if (status != cu::kSuccess) return Fail(ErrorKind::kInput, what + api_.Describe(status));
  }
  if (executable == nullptr) {
    return Fail(ErrorKind::kInput, what + "it queues nothing on the stream that it is given");
  }
  graphs_[key] = executable;
  return {};
}

Result<void> CudaGraphs::Launch(const std::string& key, cu::Stream stream) const {
  const auto found = graphs_.find(key);
  CHECK(found != graphs_.end());
  return api_.Check(api_.graph_launch(found->second, stream), "launching a graph");
}

void CudaGraphs::Clear() {
  for (const auto& [key, graph] : graphs_) api_.graph_exec_destroy(graph);
  graphs_.clear();
}

}  // namespace roofmark::device
