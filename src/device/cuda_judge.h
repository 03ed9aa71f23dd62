// SPDX-License-Identifier: Apache-2.0
// The judge's device code, loaded: what a CudaDevice and its arenas ask the GPU about memory that
// candidates have touched. Everything streams and needs no memory but a page for its findings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "device/cuda_api.h"
#include "device/device.h"

namespace roofmark::device {

// CUDA C++ of the judge's kernels.
std::string JudgeSource();

// What the comparison kernels count; the layout is the device code's.
struct JudgeFindings {
  double want_squares = 0;
  double difference_squares = 0;
  double ratio = 0;
  uint64_t wrong = 0;
  uint64_t first_wrong = UINT64_MAX;
  uint64_t non_finite = 0;
  uint64_t poisoned = 0;
  uint64_t want_bad = 0;
  uint64_t first_want_bad = UINT64_MAX;
  uint64_t near = 0;
  uint64_t first_near = UINT64_MAX;
};

class CudaJudge {
 public:
  // Requires: a current context.
  static Result<std::unique_ptr<CudaJudge>> Load(const CudaApi& api, const std::string& cubin,
                                                 int units);
  CudaJudge(const CudaJudge&) = delete;
  CudaJudge& operator=(const CudaJudge&) = delete;
  ~CudaJudge();

  Result<void> Fill(cu::Pointer at, int64_t bytes, uint8_t value);
  // Waits for what Fill and others have queued.
  Result<void> Wait();
  // How many of the bytes are not `value`, summed over calls since StartCount.
  Result<void> StartCount();
  Result<void> CountOther(cu::Pointer at, int64_t bytes, uint8_t value);
  Result<uint64_t> Counted();
  Result<uint64_t> Fingerprint(cu::Pointer at, int64_t bytes, uint64_t seed);

  struct Operands {
    DType dtype = DType::kF32;
    int64_t elements = 0;
    cu::Pointer got = 0;
    cu::Pointer want = 0;
  };
  // As ComparePayloads of device/compare.h.
  Result<Comparison> Compare(const Operands& operands, const Tolerance& tolerance);

 private:
  explicit CudaJudge(const CudaApi& api) : api_(api) {}
  Result<cu::Function> Kernel(const std::string& name);
  Result<void> Launch(const std::string& kernel, int64_t items, void** arguments);
  Result<double> ReadElement(DType dtype, cu::Pointer base, uint64_t index);
  Result<JudgeFindings> Findings();
  Result<void> ResetFindings();
  Result<Comparison> CompareNumeric(const Operands& operands, const Tolerance& tolerance);
  Result<Comparison> CompareExact(const Operands& operands);
  Result<Comparison> CompareCodes(const Operands& operands, const Tolerance& tolerance);
  Result<void> Locate(const Operands& operands, uint64_t index, Comparison& found);

  CudaApi api_;
  cu::Module module_ = nullptr;
  cu::Pointer scratch_ = 0;
  unsigned max_blocks_ = 0;
};

}  // namespace roofmark::device
