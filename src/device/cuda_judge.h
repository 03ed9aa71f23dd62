// SPDX-License-Identifier: Apache-2.0
// The judge's device code, loaded: what a CudaDevice and its arenas ask the GPU about memory that
// candidates have touched. Everything streams and needs no memory but a page for its findings.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "device/cuda_api.h"
#include "device/device.h"

namespace roofmark::device {

// CUDA C++ of the judge's kernels: those about bytes, and those that compare one type. They are
// apart because compiling all of them takes seconds and a run needs one or two types.
std::string MemorySource();
std::string ComparisonSource(DType dtype);

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
  // Text and a name for messages, to a cubin.
  using Compiler = std::function<Result<std::string>(const std::string&, const std::string&)>;

  // Requires: a current context. Compiles the kernels about bytes; others when they are needed.
  static Result<std::unique_ptr<CudaJudge>> Make(const CudaApi& api, Compiler compile, int units);
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
  CudaJudge(const CudaApi& api, Compiler compile) : api_(api), compile_(std::move(compile)) {}
  Result<cu::Module> LoadText(const std::string& text, const std::string& name);
  Result<cu::Module> ComparisonModule(DType dtype);
  Result<void> Launch(cu::Module module, const char* kernel, int64_t items, void** arguments);
  Result<double> ReadElement(DType dtype, cu::Pointer base, uint64_t index);
  Result<JudgeFindings> Findings();
  Result<void> ResetFindings();
  Result<Comparison> CompareNumeric(const Operands& operands, const Tolerance& tolerance);
  Result<Comparison> CompareExact(const Operands& operands);
  Result<Comparison> CompareCodes(const Operands& operands, const Tolerance& tolerance);
  Result<void> Locate(const Operands& operands, uint64_t index, Comparison& found);

  CudaApi api_;
  Compiler compile_;
  cu::Module memory_module_ = nullptr;
  std::map<DType, cu::Module> comparison_modules_;
  cu::Pointer scratch_ = 0;
  unsigned max_blocks_ = 0;
};

}  // namespace roofmark::device
