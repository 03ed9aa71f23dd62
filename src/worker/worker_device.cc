// SPDX-License-Identifier: Apache-2.0
#include "worker/worker_device.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "worker/cuda_worker_device.h"

namespace roofmark::worker {
namespace {

// No access on both sides of an arena: an overrun that leaves it faults, and the fault's address
// says by how much.
constexpr size_t kZoneBytes = size_t{1} << 20;

class CpuWorkerDevice final : public WorkerDevice {
 public:
  int32_t device_type() const override { return 1; }
  void* stream() const override { return nullptr; }

  Result<void*> Map(int fd, Access access, int64_t bytes) override {
    const auto size = static_cast<size_t>(bytes);
    void* const zone = ::mmap(nullptr, size + 2 * kZoneBytes, PROT_NONE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (zone == MAP_FAILED) return Refused("reserving addresses");
    const int protection = access == Access::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
    // Populated now, so that no timed call pays for page faults.
    void* const at = ::mmap(static_cast<char*>(zone) + kZoneBytes, size, protection,
                            MAP_SHARED | MAP_FIXED | MAP_POPULATE, fd, 0);
    if (at == MAP_FAILED) {
      const auto refused = Refused("mmap");
      ::munmap(zone, size + 2 * kZoneBytes);
      return refused;
    }
    return at;
  }

  Result<void> Unmap(void* at, int64_t bytes) override {
    if (::munmap(static_cast<char*>(at) - kZoneBytes,
                 static_cast<size_t>(bytes) + 2 * kZoneBytes) != 0) {
      return Refused("munmap");
    }
    return {};
  }

  Result<void> Synchronise() override { return {}; }

  Result<Json> Batch(const Json&, size_t, const std::function<Result<void>(size_t)>&) override {
    return Fail(ErrorKind::kInput, "a CPU is timed by the bell, not by batches");
  }

  Result<Json> Fit(const Json&, const std::function<Result<void>()>&) override {
    return Fail(ErrorKind::kInput, "a CPU has no graphs and no calls to watch");
  }

  Json Versions() override { return Json::MakeObject(); }

 private:
  static std::unexpected<Error> Refused(std::string_view what) {
    return Fail(
        ErrorKind::kDevice,
        fmt::format("{}: {}", what, errno == ENOMEM ? "out of memory" : std::strerror(errno)));
  }
};

}  // namespace

Result<std::unique_ptr<WorkerDevice>> OpenCpuWorkerDevice() {
  return std::make_unique<CpuWorkerDevice>();
}

Result<std::unique_ptr<WorkerDevice>> OpenWorkerDevice(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return OpenCpuWorkerDevice();
    case DeviceKind::kCuda:
      break;
  }
  return OpenCudaWorkerDevice();
}

}  // namespace roofmark::worker
