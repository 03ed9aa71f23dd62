// SPDX-License-Identifier: Apache-2.0
#include "worker/cuda_files.h"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

#include "base/files.h"
#include "device/cuda_libraries.h"

namespace roofmark::worker {
namespace {

constexpr const char* kMeterName = "libroofmark_meter.so";
constexpr const char* kMeterInside = "/roofmark/lib/libroofmark_meter.so";
// CUPTI opens nothing by its own folder, so the one file is enough.
constexpr const char* kCuptiInside = "/roofmark/lib/libcupti.so.13";

}  // namespace

Result<fs::path> MeterPath() {
  if (const char* named = std::getenv("ROOFMARK_METER"); named != nullptr && *named != '\0') {
    std::error_code error;
    if (fs::exists(named, error)) return fs::path(named);
    return Fail(ErrorKind::kNotFound,
                fmt::format("ROOFMARK_METER names {}, which is not there", named));
  }
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& place : {folder, folder.parent_path() / "lib"}) {
    if (fs::exists(place / kMeterName, error)) return place / kMeterName;
  }
  return Fail(ErrorKind::kNotFound,
              fmt::format("{} is neither in {} nor in {}: build it (./run build), or name it in "
                          "ROOFMARK_METER",
                          kMeterName, folder.string(), (folder.parent_path() / "lib").string()));
}

Result<void> AddCudaFiles(std::vector<TreeEntry>* tree, std::vector<std::string>* environment) {
  const auto show = [tree](const fs::path& source, const char* target) {
    tree->push_back({.step = TreeStep::kReadOnly, .source = source.string(), .target = target});
  };
  std::error_code error;
  const fs::path meter = fs::canonical(TRY(MeterPath()), error);
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
