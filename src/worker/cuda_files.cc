// SPDX-License-Identifier: Apache-2.0
#include "worker/cuda_files.h"

#include <system_error>

#include "base/files.h"
#include "device/cuda_libraries.h"

namespace roofmark::worker {
namespace {

constexpr const char* kMeterInside = "/roofmark/lib/libroofmark_meter.so";
// CUPTI opens nothing by its own folder, so the one file is enough.
constexpr const char* kCuptiInside = "/roofmark/lib/libcupti.so.13";

}  // namespace

Result<void> AddCudaFiles(std::vector<TreeEntry>* tree, std::vector<std::string>* environment) {
  const auto show = [tree](const fs::path& source, const char* target) {
    tree->push_back({.step = TreeStep::kReadOnly, .source = source.string(), .target = target});
  };
  std::error_code error;
  const fs::path meter = fs::canonical(TRY(device::FindMeter()), error);
  if (error) return Fail(ErrorKind::kIo, "finding the meter: " + error.message());
  show(meter, kMeterInside);
  environment->push_back(std::string("CUDA_INJECTION64_PATH=") + kMeterInside);
  if (const auto found = device::FindCudaLibrary(device::CudaLibrary::kCupti)) {
    const fs::path cupti = fs::canonical(*found, error);
    if (!error) {
      show(cupti, kCuptiInside);
      environment->push_back(std::string("ROOFMARK_CUPTI=") + kCuptiInside);
    }
  }
  return {};
}

}  // namespace roofmark::worker
