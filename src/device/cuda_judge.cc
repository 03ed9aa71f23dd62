// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "device/compare.h"

namespace roofmark::device {
namespace {

constexpr unsigned kThreads = 256;
constexpr size_t kScratchBytes = 4096;

}  // namespace

Result<std::unique_ptr<CudaJudge>> CudaJudge::Make(const CudaApi& api, Compiler compile,
                                                   int units) {
  std::unique_ptr<CudaJudge> judge(new CudaJudge(api, std::move(compile)));
  judge->max_blocks_ = static_cast<unsigned>(units) * 8;
  judge->memory_module_ = TRY(judge->LoadText(MemorySource(), "memory.cu"));
  TRY(api.Check(api.mem_alloc(&judge->scratch_, kScratchBytes), "allocating a page"));
  return judge;
}

CudaJudge::~CudaJudge() {
  if (scratch_ != 0) api_.mem_free(scratch_);
  for (const auto& [dtype, module] : comparison_modules_) api_.module_unload(module);
  if (memory_module_ != nullptr) api_.module_unload(memory_module_);
}

Result<cu::Module> CudaJudge::LoadText(const std::string& text, const std::string& name) {
  const std::string cubin = TRY(compile_(text, name));
  cu::Module module = nullptr;
  TRY(api_.Check(api_.module_load_data(&module, cubin.data()), "loading the judge's kernels"));
  return module;
}

Result<cu::Module> CudaJudge::ComparisonModule(DType dtype) {
  if (const auto found = comparison_modules_.find(dtype); found != comparison_modules_.end()) {
    return found->second;
  }
  const cu::Module module = TRY(LoadText(ComparisonSource(dtype), "comparison.cu"));
  comparison_modules_[dtype] = module;
  return module;
}

Result<void> CudaJudge::Launch(cu::Module module, const char* kernel, int64_t items,
                               void** arguments) {
  if (items == 0) return {};
  cu::Function function = nullptr;
  TRY(api_.Check(api_.module_get_function(&function, module, kernel), kernel));
  const int64_t wanted = (items + kThreads - 1) / kThreads;
  const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, max_blocks_));
  return api_.Check(
      api_.launch_kernel(function, blocks, 1, 1, kThreads, 1, 1, 0, nullptr, arguments, nullptr),
      kernel);
}

Result<void> CudaJudge::Fill(cu::Pointer at, int64_t bytes, uint8_t value) {
  if (bytes == 0) return {};
  return api_.Check(api_.memset_d8_async(at, value, static_cast<size_t>(bytes), nullptr),
                    "filling an arena");
}

Result<void> CudaJudge::Wait() {
  return api_.Check(api_.ctx_synchronize(), "waiting for the judge's kernels");
}

Result<void> CudaJudge::StartCount() {
  return Fill(scratch_, sizeof(uint64_t), 0);
}

Result<void> CudaJudge::CountOther(cu::Pointer at, int64_t bytes, uint8_t value) {
  uint32_t wanted = value;
  void* arguments[] = {&at, &bytes, &wanted, &scratch_};
  return Launch(memory_module_, "count_other", bytes, arguments);
}

Result<uint64_t> CudaJudge::Counted() {
  uint64_t count = 0;
  TRY(api_.Check(api_.memcpy_dtoh(&count, scratch_, sizeof count), "reading a count"));
  return count;
}

Result<uint64_t> CudaJudge::Fingerprint(cu::Pointer at, int64_t bytes, uint64_t seed) {
  TRY(StartCount());
  void* arguments[] = {&at, &bytes, &seed, &scratch_};
  TRY(Launch(memory_module_, "fingerprint", bytes, arguments));
  return Counted();
}

Result<JudgeFindings> CudaJudge::Findings() {
  JudgeFindings findings;
  TRY(api_.Check(api_.memcpy_dtoh(&findings, scratch_, sizeof findings), "reading findings"));
  return findings;
}

Result<void> CudaJudge::ResetFindings() {
  const JudgeFindings none;
  return api_.Check(api_.memcpy_htod(scratch_, &none, sizeof none), "clearing findings");
}

Result<double> CudaJudge::ReadElement(DType dtype, cu::Pointer base, uint64_t index) {
  std::array<std::byte, 8> bits{};
  const auto size = static_cast<size_t>(DTypeBytes(dtype));
  TRY(api_.Check(api_.memcpy_dtoh(bits.data(), base + index * size, size), "reading an element"));
  return DecodeElement(dtype, bits.data());
}

Result<void> CudaJudge::Locate(const Operands& operands, uint64_t index, Comparison& found) {
  found.first_wrong = static_cast<int64_t>(index);
  found.got = TRY(ReadElement(operands.dtype, operands.got, index));
  found.want = TRY(ReadElement(operands.dtype, operands.want, index));
  return {};
}

Result<Comparison> CudaJudge::CompareNumeric(const Operands& operands, const Tolerance& tolerance) {
  Operands at = operands;
  const cu::Module module = TRY(ComparisonModule(operands.dtype));
  void* norm_arguments[] = {&at.want, &at.elements, &scratch_};
  TRY(Launch(module, "compare_norm", at.elements, norm_arguments));
  const JudgeFindings first = TRY(Findings());
  if (first.want_bad > 0) {
    const double value = TRY(ReadElement(at.dtype, at.want, first.first_want_bad));
    return Fail(ErrorKind::kInput,
                fmt::format("the reference's element {} is {}; references must be finite",
                            first.first_want_bad, value));
  }
  const double norm = std::sqrt(first.want_squares);
  const auto elements = static_cast<double>(at.elements);
  double floor = at.elements == 0 ? 0 : tolerance.atol_rms * norm / std::sqrt(elements);
  double rtol = tolerance.rtol;
  void* arguments[] = {&at.got, &at.want, &at.elements, &rtol, &floor, &scratch_};
  TRY(Launch(module, "compare_elements", at.elements, arguments));
  const JudgeFindings second = TRY(Findings());

  Comparison found{.elements = at.elements};
  found.wrong = static_cast<int64_t>(second.wrong);
  found.non_finite = static_cast<int64_t>(second.non_finite);
  found.poisoned = static_cast<int64_t>(second.poisoned);
  found.max_ratio = std::min(second.ratio, kHopeless);
  const double difference = std::sqrt(second.difference_squares);
  if (norm > 0) found.rel_l2 = std::min(difference / norm, kHopeless);
  if ((norm == 0 && difference > 0) || second.non_finite > 0) found.rel_l2 = kHopeless;
  found.within = found.wrong == 0 && found.rel_l2 <= tolerance.rel_l2;
  if (found.wrong > 0) TRY(Locate(at, second.first_wrong, found));
  return found;
}

Result<Comparison> CudaJudge::CompareExact(const Operands& operands) {
  Operands at = operands;
  double rtol = -1;
  double floor = 0;
  void* arguments[] = {&at.got, &at.want, &at.elements, &rtol, &floor, &scratch_};
  const cu::Module module = TRY(ComparisonModule(at.dtype));
  TRY(Launch(module, "compare_elements", at.elements, arguments));
  const JudgeFindings findings = TRY(Findings());
  Comparison found{.elements = at.elements};
  found.wrong = static_cast<int64_t>(findings.wrong);
  found.non_finite = static_cast<int64_t>(findings.non_finite);
  found.poisoned = static_cast<int64_t>(findings.poisoned);
  found.max_ratio = found.wrong > 0 ? kHopeless : 0;
  found.within = found.wrong == 0;
  if (found.wrong > 0) TRY(Locate(at, findings.first_wrong, found));
  return found;
}

Result<Comparison> CudaJudge::CompareCodes(const Operands& operands, const Tolerance& tolerance) {
  if (DTypeBytes(operands.dtype) != 1) {
    return Fail(ErrorKind::kInput, fmt::format("comparison 'codes' is for fp8, not for {}",
                                               DTypeName(operands.dtype)));
  }
  Operands at = operands;
  const cu::Module module = TRY(ComparisonModule(at.dtype));
  void* norm_arguments[] = {&at.want, &at.elements, &scratch_};
  TRY(Launch(module, "compare_norm", at.elements, norm_arguments));
  void* arguments[] = {&at.got, &at.want, &at.elements, &scratch_};
  TRY(Launch(module, "compare_codes", at.elements, arguments));
  const JudgeFindings findings = TRY(Findings());
  if (findings.want_bad > 0) {
    return Fail(ErrorKind::kInput, fmt::format("the reference's element {} is no finite code",
                                               findings.first_want_bad));
  }
  Comparison found{.elements = at.elements};
  found.non_finite = static_cast<int64_t>(findings.non_finite);
  found.poisoned = static_cast<int64_t>(findings.poisoned);
  const double allowed = tolerance.code_slack * static_cast<double>(at.elements);
  const auto near = static_cast<double>(findings.near);
  found.max_ratio = allowed > 0 ? near / allowed : (near > 0 ? kHopeless : 0);
  if (findings.wrong > 0) {
    found.max_ratio = kHopeless;
    found.wrong = static_cast<int64_t>(findings.wrong);
    TRY(Locate(at, findings.first_wrong, found));
  } else if (near > allowed) {
    found.wrong = static_cast<int64_t>(findings.near);
    TRY(Locate(at, findings.first_near, found));
  }
  found.within = found.wrong == 0;
  return found;
}

Result<Comparison> CudaJudge::Compare(const Operands& operands, const Tolerance& tolerance) {
  TRY(ResetFindings());
  switch (tolerance.kind) {
    case CompareKind::kNumeric:
      return CompareNumeric(operands, tolerance);
    case CompareKind::kExact:
      return CompareExact(operands);
    case CompareKind::kGrouped:
      return Fail(ErrorKind::kInput, "grouped outputs are compared by gate/grouped.h");
    case CompareKind::kCodes:
      break;
  }
  return CompareCodes(operands, tolerance);
}

}  // namespace roofmark::device
