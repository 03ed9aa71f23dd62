// SPDX-License-Identifier: Apache-2.0
// CUDA graphs of calls, each captured once and launched as often as wanted. Capturing runs nothing
// on the device; a launch runs what was captured, on whatever the memory holds by then.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "device/cuda_api.h"

namespace roofmark::device {

class CudaGraphs {
 public:
  explicit CudaGraphs(const CudaApi& api) : api_(api) {}
  CudaGraphs(const CudaGraphs&) = delete;
  CudaGraphs& operator=(const CudaGraphs&) = delete;
  ~CudaGraphs() { Clear(); }

  bool Has(const std::string& key) const { return graphs_.contains(key); }
  // Captures what `call` queues on `stream`, in the mode that servers use (global: calls that no
  // capture allows fail, whatever stream they name). Errors: kInput with what the driver said when
  // the call cannot be captured or queues nothing.
  Result<void> Capture(const std::string& key, cu::Stream stream,
                       const std::function<Result<void>()>& call);
  // Requires: Has(key).
  Result<void> Launch(const std::string& key, cu::Stream stream) const;
  // Graphs name addresses; they are worth nothing once some memory is unmapped.
  void Clear();

 private:
  CudaApi api_;
  std::map<std::string, cu::GraphExec> graphs_;
};

}  // namespace roofmark::device
