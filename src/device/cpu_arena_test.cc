// SPDX-License-Identifier: Apache-2.0
#include "device/cpu_arena.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/testing.h"
#include "device/device.h"

namespace roofmark::device {
namespace {

ArenaLayout TwoTensors() {
  const std::vector<Tensor> tensors = {{.name = "x", .dtype = DType::kBF16, .sizes = {3, 5}},
                                       {.name = "y", .dtype = DType::kF32, .sizes = {1000}}};
  return LayOut(tensors);
}

std::unique_ptr<CpuArena> MakeArena() {
  return std::move(CpuArena::Make(TwoTensors())).value();
}

TEST(ArenaLayout, LeavesAGuardOnBothSidesOfEachTensor) {
  const ArenaLayout layout = TwoTensors();
  ASSERT_EQ(layout.places.size(), 2U);
  EXPECT_EQ(layout.bytes % 4096, 0);
  int64_t end = 0;
  for (const TensorPlace& place : layout.places) {
    EXPECT_EQ(place.offset % kTensorAlignment, 0);
    EXPECT_GE(place.offset - end, kGuardBytes);
    end = place.offset + place.tensor.Bytes();
  }
  EXPECT_GE(layout.bytes - end, kGuardBytes);
}

TEST(ArenaLayout, PlacesLargeTensorsAsPyTorchDoes) {
  const std::vector<Tensor> tensors = {
      {.name = "small", .dtype = DType::kBF16, .sizes = {3, 5}},
      {.name = "large", .dtype = DType::kU8, .sizes = {kLargeTensorBytes}},
      {.name = "smaller", .dtype = DType::kU8, .sizes = {kLargeTensorBytes - 1}}};
  const ArenaLayout layout = LayOut(tensors);
  EXPECT_EQ(layout.places[0].offset, kGuardBytes);
  EXPECT_EQ(layout.places[1].offset, kLargeTensorAlignment);
  EXPECT_EQ(layout.places[2].offset, kLargeTensorAlignment + kLargeTensorBytes + kGuardBytes);
}

TEST(ArenaLayout, GuardsAndPayloadsCoverEveryByteOnce) {
  const ArenaLayout layout = TwoTensors();
  int64_t total = 0;
  for (const ByteRange& range : GuardRanges(layout)) total += range.bytes;
  for (const TensorPlace& place : layout.places) total += place.tensor.Bytes();
  EXPECT_EQ(total, layout.bytes);
}

TEST(CpuArena, PoisonsPayloadsAndSeesABrokenGuard) {
  const auto arena = MakeArena();
  ASSERT_THAT(arena->Poison(), IsOk());
  EXPECT_EQ(arena->Read(arena->layout().places[0].offset, 2).value(), "\xff\xff");
  EXPECT_TRUE(arena->GuardsIntact().value());

  const TensorPlace& x = arena->layout().places[0];
  ASSERT_THAT(arena->Write(x.offset + x.tensor.Bytes(), "!"), IsOk());
  EXPECT_FALSE(arena->GuardsIntact().value());
}

TEST(CpuArena, FingerprintsChangeWithOneBit) {
  const auto arena = MakeArena();
  ASSERT_THAT(arena->Poison(), IsOk());
  const auto before = arena->Fingerprints().value();
  EXPECT_EQ(before, arena->Fingerprints().value());
  const TensorPlace& y = arena->layout().places[1];
  ASSERT_THAT(arena->Write(y.offset + y.tensor.Bytes() - 1, "\xfe"), IsOk());
  const auto after = arena->Fingerprints().value();
  EXPECT_EQ(before[0], after[0]);
  EXPECT_NE(before[1], after[1]);
}

TEST(CpuArena, RefusesAccessOutsideItself) {
  const auto arena = MakeArena();
  EXPECT_THAT(arena->Read(arena->layout().bytes - 1, 2), HasError(ErrorKind::kInput, "do not lie"));
  EXPECT_THAT(arena->Read(-1, 2), HasError(ErrorKind::kInput, "do not lie"));
}

TEST(CpuArena, SealedMemoryCannotBeMadeWritableByAnyRoute) {
  const auto arena = MakeArena();
  ASSERT_THAT(arena->Seal(), IsOk());
  ASSERT_THAT(arena->Seal(), IsOk());
  const auto bytes = static_cast<size_t>(arena->mapped_bytes());
  EXPECT_EQ(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd(), 0), MAP_FAILED);
  void* const readable = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, arena->fd(), 0);
  ASSERT_NE(readable, MAP_FAILED);
  EXPECT_NE(::mprotect(readable, bytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_EQ(::pwrite(arena->fd(), "x", 1, 0), -1);
  const Fd again(::open(fmt::format("/proc/self/fd/{}", arena->fd()).c_str(), O_RDWR));
  EXPECT_TRUE(!again.valid() || ::pwrite(again.get(), "x", 1, 0) == -1);
  EXPECT_NE(::ftruncate(arena->fd(), 4096), 0);
  ::munmap(readable, bytes);
}

TEST(CpuArena, ASealedArenaStaysWritableThroughEarlierMappings) {
  const auto arena = MakeArena();
  ASSERT_THAT(arena->Seal(), IsOk());
  EXPECT_THAT(arena->Write(0, "fresh"), IsOk());
  EXPECT_EQ(arena->Read(0, 5).value(), "fresh");
}

TEST(CpuArena, SaysWhenMemoryIsOut) {
  ArenaLayout huge = TwoTensors();
  huge.bytes = int64_t{1} << 52;
  EXPECT_THAT(CpuArena::Make(huge), HasError(ErrorKind::kDevice, "does not fit"));
}

TEST(CpuArena, FlushingKeepsTheBytes) {
  const auto arena = MakeArena();
  ASSERT_THAT(arena->Write(100, "kept"), IsOk());
  FlushFromCache(*arena);
  EXPECT_EQ(arena->Read(100, 4).value(), "kept");
}

TEST(CpuDevice, KnowsItsCacheMemoryAndName) {
  const auto device = OpenCpu();
  ASSERT_THAT(device, IsOk());
  const DeviceInfo& info = (*device)->info();
  EXPECT_EQ(info.kind, DeviceKind::kCpu);
  EXPECT_GT(info.memory_bytes, 0);
  EXPECT_GT(info.units, 0);
  EXPECT_FALSE(info.name.empty());
  EXPECT_TRUE(info.driver.starts_with("Linux"));
}

TEST(CpuDevice, ComparesTheNamedOutput) {
  const auto device = std::move(OpenCpu()).value();
  const auto got = std::move(device->MakeArena(TwoTensors())).value();
  const auto want = std::move(device->MakeArena(TwoTensors())).value();
  const TensorPlace& y = got->layout().places[1];
  const float wrong = 2.0F;
  ASSERT_THAT(got->Write(y.offset + 4 * 7, {reinterpret_cast<const char*>(&wrong), 4}), IsOk());
  EXPECT_TRUE(device->Compare(*got, *want, 0, {})->within);
  const auto comparison = device->Compare(*got, *want, 1, {.rtol = 0.1});
  ASSERT_THAT(comparison, IsOk());
  EXPECT_FALSE(comparison->within);
  EXPECT_EQ(comparison->first_wrong, 7);
  EXPECT_EQ(comparison->got, 2.0);
}

TEST(CpuArena, CopiesPayloadsOfAnotherArenaAndNothingElse) {
  const auto arena = MakeArena();
  const auto other = MakeArena();
  ASSERT_THAT(arena->Poison(), IsOk());
  const TensorPlace& y = arena->layout().places[1];
  ASSERT_THAT(other->Write(y.offset, std::string(4000, 'k')), IsOk());
  ASSERT_THAT(arena->Copy(y.offset, *other, y.offset, 4000), IsOk());
  EXPECT_EQ(*arena->Read(y.offset, 4000), std::string(4000, 'k'));
  EXPECT_TRUE(*arena->GuardsIntact());
  EXPECT_THAT(arena->Copy(y.offset, *other, y.offset, int64_t{1} << 40),
              HasError(ErrorKind::kInput, "do not lie in an arena"));
}

TEST(WarmOperands, AreThoseThatTheContractSaysAreWarm) {
  const std::vector<Tensor> tensors = {
      {.name = "x", .dtype = DType::kF32, .sizes = {100}},
      {.name = "w", .dtype = DType::kF32, .sizes = {1000}, .residency = Residency::kWarm}};
  const auto arena = std::move(CpuArena::Make(LayOut(tensors))).value();
  EXPECT_EQ(WarmOperands(*arena), 4000);
  EXPECT_EQ(WarmOperands(*MakeArena()), 0);
}

}  // namespace
}  // namespace roofmark::device
