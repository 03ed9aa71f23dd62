// SPDX-License-Identifier: Apache-2.0
// An arena in GPU memory: one allocation of CUDA's virtual memory API, exported as a descriptor.
#pragma once

#include <memory>

#include "base/owned.h"
#include "device/arena.h"
#include "device/cuda_import.h"
#include "device/cuda_judge.h"

namespace roofmark::device {

class CudaArena final : public Arena {
 public:
  // Requires: a current context; `judge` outlives the arena. Errors: kDevice, with "out of memory"
  // in the message when that is the reason.
  static Result<std::unique_ptr<CudaArena>> Make(const CudaApi& api, CudaJudge& judge,
                                                 cu::Device device, ArenaLayout layout);

  int fd() const override { return fd_.get(); }
  int64_t mapped_bytes() const override { return static_cast<int64_t>(mapping_->bytes()); }
  // Nothing to do: each importer's own mapping sets its access, see cuda_import.h.
  Result<void> Seal() override { return {}; }
  Result<void> Poison() override;
  Result<bool> GuardsIntact() override;
  Result<std::vector<uint64_t>> Fingerprints() override;
  Result<std::string> Read(int64_t offset, int64_t bytes) override;
  Result<void> Write(int64_t offset, std::string_view bytes) override;
  Result<void> Copy(int64_t offset, Arena& from, int64_t from_offset, int64_t bytes) override;

  cu::Pointer address() const { return mapping_->address(); }

 private:
  CudaArena(ArenaLayout layout, const CudaApi& api, CudaJudge& judge, Fd fd,
            std::unique_ptr<CudaMapping> mapping);
  // Everything that is no payload, including what the device rounded the allocation up by.
  std::vector<ByteRange> Guards() const;
  Result<cu::Pointer> Part(int64_t offset, int64_t bytes) const;

  CudaApi api_;
  CudaJudge& judge_;
  Fd fd_;
  std::unique_ptr<CudaMapping> mapping_;
  uint64_t seed_;
};

}  // namespace roofmark::device
