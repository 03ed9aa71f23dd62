// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/check.h"
#include "base/files.h"
#include "base/text.h"
#include "device/cuda_arena.h"
#include "device/cuda_stage.h"
#include "device/nvrtc.h"

namespace roofmark::device {
namespace {

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  ..." -> "580.159.04".
std::string KernelDriver() {
  const auto text = ReadFile("/proc/driver/nvidia/version");
  if (!text) return "unknown driver";
  const std::vector<std::string_view> lines = Split(*text, '\n');
  for (const std::string_view word : Split(lines.front(), ' ')) {
    const bool is_version = word.size() > 4 && word.find('.') != std::string_view::npos &&
                            word.find_first_not_of("0123456789.") == std::string_view::npos;
    if (is_version) return std::string(word);
  }
  return "unknown driver";
}

std::string UuidText(const cu::Uuid& uuid) {
  std::string text = "GPU-";
  for (size_t i = 0; i < sizeof uuid.bytes; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", uuid.bytes[i]);
  }
  return text;
}

constexpr std::chrono::seconds kAnswerLimit{10};

// The stream's status once it has nothing left to do, or kNotReady after the limit.
cu::Status WaitFor(const CudaApi& api, cu::Stream stream) {
  const auto deadline = std::chrono::steady_clock::now() + kAnswerLimit;
  cu::Status status = api.stream_query(stream);
  while (status == cu::kNotReady && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    status = api.stream_query(stream);
  }
  return status;
}

Result<void> FillAndRead(const CudaApi& api) {
  constexpr size_t kBytes = 4096;
  constexpr unsigned char kPattern = 0xa5;
  cu::Stream stream = nullptr;
  cu::Pointer memory = 0;
  TRY(api.Check(api.mem_alloc(&memory, kBytes), "allocating a page"));
  TRY(api.Check(api.stream_create(&stream, cu::kStreamNonBlocking), "making a stream"));
  TRY(api.Check(api.memset_d8_async(memory, kPattern, kBytes, stream), "filling a page"));
  const cu::Status status = WaitFor(api, stream);
  if (status == cu::kNotReady) {
    return Fail(ErrorKind::kDevice,
                fmt::format("filling a page did not end in {} s", kAnswerLimit.count()));
  }
  TRY(api.Check(status, "filling a page"));
  std::array<unsigned char, kBytes> seen{};
  TRY(api.Check(api.memcpy_dtoh(seen.data(), memory, kBytes), "reading a page back"));
  TRY(api.Check(api.stream_destroy(stream), "closing a stream"));
  TRY(api.Check(api.mem_free(memory), "freeing a page"));
  if (!std::ranges::all_of(seen, [](unsigned char byte) { return byte == kPattern; })) {
    return Fail(ErrorKind::kDevice, "a page reads back other bytes than it was filled with");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::Open() {
  const CudaApi loaded =
      TRY(LoadCudaApi());  // before `new`, whose memory an early return would leak
  std::unique_ptr<CudaDevice> device(new CudaDevice(loaded));
  const CudaApi& api = device->api_;
  TRY_IN(api.Check(api.init(0), "initialising"), "opening the GPU (does nvidia-smi see one?)");
  TRY(api.Check(api.device_get(&device->device_, 0), "finding device 0"));
  cu::Context context = nullptr;
  TRY(api.Check(api.primary_ctx_retain(&context, device->device_), "opening device 0"));
  device->retained_ = true;
  TRY(api.Check(api.ctx_set_current(context), "using device 0"));
  TRY(device->Describe());
  device->nvrtc_ = TRY(LoadNvrtc());
  device->judge_ = TRY(CudaJudge::Make(
      api,
      [nvrtc = device->nvrtc_, arch = device->info_.arch](
          const std::string& text, const std::string& name) -> Result<std::string> {
        return CompileCubin(nvrtc, text, name, arch);
      },
      device->info_.units));
  return device;
}

CudaDevice::~CudaDevice() {
  judge_.reset();
  if (retained_) api_.primary_ctx_release(device_);
}

Result<void> CudaDevice::Describe() {
  info_.kind = DeviceKind::kCuda;
  std::array<char, 256> name{};
  TRY(api_.Check(api_.device_get_name(name.data(), 255, device_), "reading the GPU's name"));
  info_.name = name.data();
  cu::Uuid uuid{};
  TRY(api_.Check(api_.device_get_uuid(&uuid, device_), "reading the GPU's UUID"));
  info_.uuid = UuidText(uuid);
  int version = 0;
  TRY(api_.Check(api_.driver_get_version(&version), "reading the driver's version"));
  info_.driver = fmt::format("{} CUDA {}.{}", KernelDriver(), version / 1000, version % 1000 / 10);
  const auto attribute = [this](int which) -> Result<int> {
    int value = 0;
    TRY(api_.Check(api_.device_get_attribute(&value, which, device_), "reading an attribute"));
    return value;
  };
  info_.arch = fmt::format("sm_{}{}", TRY(attribute(cu::kAttributeMajor)),
                           TRY(attribute(cu::kAttributeMinor)));
  info_.cache_bytes = TRY(attribute(cu::kAttributeL2Bytes));
  info_.units = TRY(attribute(cu::kAttributeMultiprocessors));
  if (TRY(attribute(cu::kAttributePosixFdHandles)) == 0) {
    return Fail(ErrorKind::kDevice, info_.name +
                                        " cannot share memory by file descriptors, which the "
                                        "separation of judge and candidate needs");
  }
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  TRY(api_.Check(api_.mem_get_info(&free_bytes, &total_bytes), "reading the free memory"));
  info_.memory_bytes = static_cast<int64_t>(free_bytes);
  return {};
}

Result<std::unique_ptr<Arena>> CudaDevice::MakeArena(ArenaLayout layout) {
  return TRY(CudaArena::Make(api_, *judge_, device_, std::move(layout)));
}

Result<Comparison> CudaDevice::Compare(Arena& got, Arena& want, size_t place,
                                       const Tolerance& tolerance) {
  // Every arena that this device compares was made by it.
  auto* const got_arena = dynamic_cast<CudaArena*>(&got);
  auto* const want_arena = dynamic_cast<CudaArena*>(&want);
  CHECK(got_arena != nullptr && want_arena != nullptr);
  CHECK(place < got.layout().places.size() && place < want.layout().places.size());
  const TensorPlace& got_place = got.layout().places[place];
  const TensorPlace& want_place = want.layout().places[place];
  CHECK(got_place.tensor.dtype == want_place.tensor.dtype);
  CHECK(got_place.tensor.sizes == want_place.tensor.sizes);
  return judge_->Compare({.dtype = got_place.tensor.dtype,
                          .elements = got_place.tensor.Elements(),
                          .got = got_arena->address() + static_cast<uint64_t>(got_place.offset),
                          .want = want_arena->address() + static_cast<uint64_t>(want_place.offset)},
                         tolerance);
}

Result<std::optional<int64_t>> CudaDevice::FreeMemory() {
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  TRY(api_.Check(api_.mem_get_info(&free_bytes, &total_bytes), "reading the free memory"));
  return std::optional<int64_t>(static_cast<int64_t>(free_bytes));
}

Result<void> CudaDevice::CheckAnswers() {
  Result<void> answer = FillAndRead(api_);
  if (answer) return answer;
  return Fail(ErrorKind::kDevice,
              fmt::format("{} is not healthy after a candidate's fault: {}. Look for Xid lines in "
                          "dmesg; the driver, or the machine, may have to be restarted",
                          info_.name, answer.error().message()));
}

Result<std::string> CudaDevice::Compile(const std::string& text, const std::string& name) {
  return CompileCubin(nvrtc_, text, name, info_.arch);
}

Result<std::string> CudaDevice::StageCubin() {
  if (stage_cubin_.empty()) stage_cubin_ = TRY(Compile(StageSource(), "stage.cu"));
  return stage_cubin_;
}

Result<std::unique_ptr<Device>> OpenCuda() {
  return TRY(CudaDevice::Open());
}

}  // namespace roofmark::device
