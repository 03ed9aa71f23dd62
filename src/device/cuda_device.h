// SPDX-License-Identifier: Apache-2.0
// The GPU as the judge sees it. Device 0 of what the driver shows; CUDA_VISIBLE_DEVICES chooses.
#pragma once

#include <memory>
#include <string>

#include "device/cuda_api.h"
#include "device/cuda_judge.h"
#include "device/device.h"
#include "device/nvrtc.h"

namespace roofmark::device {

class CudaDevice final : public Device {
 public:
  static Result<std::unique_ptr<CudaDevice>> Open();
  ~CudaDevice() override;

  const DeviceInfo& info() const override { return info_; }
  Result<std::unique_ptr<Arena>> MakeArena(ArenaLayout layout) override;
  Result<Comparison> Compare(Arena& got, Arena& want, size_t place,
                             const Tolerance& tolerance) override;
  Result<std::optional<int64_t>> FreeMemory() override;
  // A few bytes are filled on a stream of their own and read back. Leaves them allocated where the
  // device does not answer: freeing would wait for it.
  Result<void> CheckAnswers() override;

  const CudaApi& api() const { return api_; }
  // The stage's machine code for this GPU, compiled on the first call.
  Result<std::string> StageCubin();
  // Text of ours to machine code for this GPU.
  Result<std::string> Compile(const std::string& text, const std::string& name);

 private:
  explicit CudaDevice(const CudaApi& api) : api_(api) {}
  Result<void> Describe();

  CudaApi api_;
  NvrtcApi nvrtc_;
  cu::Device device_ = 0;
  DeviceInfo info_;
  std::unique_ptr<CudaJudge> judge_;
  std::string stage_cubin_;
  bool retained_ = false;
};

}  // namespace roofmark::device
