// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstring>

#include "base/hash.h"
#include "base/testing.h"
#include "base/text.h"
#include "device/compare.h"
#include "device/cuda_arena.h"
#include "gpu/gpu_bench.h"

namespace roofmark::gpu {

namespace cu = device::cu;
using testing::HasSubstr;

// Imports an arena and lets a kernel write into it; prints how that ended.
Result<void> PlayWriter(const std::vector<std::string>& arguments) {
  const auto opened = TRY(device::CudaDevice::Open());
  const device::CudaApi& api = opened->api();
  const int fd = static_cast<int>(TRY(ParseInt(arguments[0])));
  const auto bytes = static_cast<size_t>(TRY(ParseInt(arguments[1])));
  const auto access =
      arguments[2] == "rw" ? device::MapAccess::kReadWrite : device::MapAccess::kRead;
  const auto mapping = TRY(device::CudaMapping::Import(api, fd, bytes, access, 0));
  if (arguments[2] == "raise") {
    const cu::AccessDescription description = {.location = {}, .flags = cu::kAccessReadWrite};
    TRY(api.Check(api.mem_set_access(mapping->address(), bytes, &description, 1), "raising"));
  }
  const std::string cubin = TRY(opened->Compile(
      "extern \"C\" __global__ void poke(unsigned char* at) { at[threadIdx.x] = 7; }", "poke.cu"));
  cu::Module module = nullptr;
  cu::Function poke = nullptr;
  TRY(api.Check(api.module_load_data(&module, cubin.data()), "loading poke"));
  TRY(api.Check(api.module_get_function(&poke, module, "poke"), "finding poke"));
  auto at = mapping->address() + static_cast<uint64_t>(TRY(ParseInt(arguments[3])));
  void* values[] = {&at};
  TRY(api.Check(api.launch_kernel(poke, 1, 1, 1, 32, 1, 1, 0, nullptr, values, nullptr), "poke"));
  fmt::print("{}\n", api.Describe(api.ctx_synchronize()));
  return {};
}

namespace {

class GpuArena : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (device_ == nullptr) return;
    const std::vector<Tensor> tensors = {{.name = "x", .dtype = DType::kBF16, .sizes = {1000, 333}},
                                         {.name = "y", .dtype = DType::kF32, .sizes = {77}}};
    auto made = device_->MakeArena(device::LayOut(tensors));
    ASSERT_THAT(made, IsOk());
    arena_ = std::move(*made);
    ASSERT_THAT(arena_->Poison(), IsOk());
  }
  void TearDown() override { arena_.reset(); }

  // What a child's kernel got for writing into the first tensor.
  std::string WriteFromChild(const std::string& access) {
    const int fd = ::dup(arena_->fd());  // without close-on-exec
    const auto said = Start({"writer", std::to_string(fd), std::to_string(arena_->mapped_bytes()),
                             access, std::to_string(arena_->layout().places[0].offset)},
                            Injection::kNone);
    ::close(fd);
    EXPECT_THAT(said, IsOk());
    return said.value_or("");
  }

  std::unique_ptr<device::Arena> arena_;
};

TEST_F(GpuArena, PoisonLeavesGuardsIntactAndPayloadsPoisoned) {
  EXPECT_TRUE(*arena_->GuardsIntact());
  const auto payload = arena_->Read(arena_->layout().places[1].offset, 77 * 4);
  EXPECT_EQ(*payload, std::string(77 * 4, '\xff'));
}

TEST_F(GpuArena, CopiesPayloadsOfAnotherArena) {
  auto other = device_->MakeArena(arena_->layout());
  ASSERT_THAT(other, IsOk());
  ASSERT_THAT((*other)->Poison(), IsOk());
  const int64_t at = arena_->layout().places[1].offset;
  const std::string text(static_cast<size_t>(arena_->layout().places[1].tensor.Bytes()), 'k');
  ASSERT_THAT((*other)->Write(at, text), IsOk());
  const auto before = arena_->Fingerprints();
  ASSERT_THAT(arena_->Copy(at, **other, at, static_cast<int64_t>(text.size())), IsOk());
  EXPECT_EQ(*arena_->Read(at, static_cast<int64_t>(text.size())), text);
  EXPECT_TRUE(*arena_->GuardsIntact());
  EXPECT_EQ(arena_->Fingerprints()->at(0), before->at(0));
  EXPECT_NE(arena_->Fingerprints()->at(1), before->at(1));
  EXPECT_THAT(arena_->Copy(at, **other, at, int64_t{1} << 40),
              HasError(ErrorKind::kInput, "are outside the arena"));
}

TEST_F(GpuArena, AWriteIntoAnyGuardShows) {
  for (const int64_t offset :
       {int64_t{0}, arena_->layout().places[0].offset - 1,
        arena_->layout().places[1].offset + 77 * 4, arena_->layout().bytes - 1}) {
    ASSERT_THAT(arena_->Poison(), IsOk());
    ASSERT_THAT(arena_->Write(offset, "x"), IsOk());
    EXPECT_FALSE(*arena_->GuardsIntact()) << offset;
  }
}

TEST_F(GpuArena, FingerprintsFollowTheirOwnTensorOnly) {
  const auto before = *arena_->Fingerprints();
  ASSERT_THAT(arena_->Write(arena_->layout().places[1].offset + 300, "x"), IsOk());
  const auto after = *arena_->Fingerprints();
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
}

TEST_F(GpuArena, AReadOnlyImportFaultsInTheWriterAlone) {
  const auto before = *arena_->Fingerprints();
  EXPECT_THAT(WriteFromChild("r"), HasSubstr("(700)"));
  EXPECT_EQ(*arena_->Fingerprints(), before);
}

TEST_F(GpuArena, AnImporterThatRaisesItsAccessIsFoundByTheFingerprint) {
  const auto before = *arena_->Fingerprints();
  EXPECT_THAT(WriteFromChild("raise"), HasSubstr("CUDA_SUCCESS"));
  EXPECT_NE(*arena_->Fingerprints(), before);
}

TEST_F(GpuArena, AReadWriteImportWrites) {
  EXPECT_THAT(WriteFromChild("rw"), HasSubstr("CUDA_SUCCESS"));
  const auto written = arena_->Read(arena_->layout().places[0].offset, 32);
  EXPECT_EQ(*written, std::string(32, '\7'));
}

TEST_F(GpuArena, MoreMemoryThanThereIsIsAnErrorThatSaysSo) {
  const std::vector<Tensor> tensors = {
      {.name = "x", .dtype = DType::kU8, .sizes = {int64_t{1} << 42}}};
  EXPECT_THAT(device_->MakeArena(device::LayOut(tensors)),
              HasError(ErrorKind::kDevice, "out of memory"));
}

// Random bits without NaN or infinity, and nearly the same again with some elements off, some not
// finite and some poisoned.
struct Payloads {
  std::string want;
  std::string got;
};
Payloads MakePayloads(DType dtype, int64_t elements) {
  Random random(20261129);
  const auto size = static_cast<size_t>(DTypeBytes(dtype));
  Payloads payloads{.want = std::string(static_cast<size_t>(elements) * size, '\0')};
  for (size_t i = 0; i < payloads.want.size(); i += size) {
    do {
      const uint64_t bits = random.Next();
      std::memcpy(payloads.want.data() + i, &bits, size);
    } while (IsFloat(dtype) && !(std::abs(DecodeElement(dtype, payloads.want.data() + i)) < 1e15));
  }
  payloads.got = payloads.want;
  for (size_t i = 0; i < payloads.got.size(); i += size * 97) {
    payloads.got[i] = static_cast<char>(payloads.got[i] ^ 1);
  }
  if (IsFloat(dtype)) std::memset(payloads.got.data() + 4096, 0xff, 64);
  return payloads;
}

void ExpectSame(const device::Comparison& gpu, const device::Comparison& cpu) {
  const auto expect_near = [](double a, double b) {
    if (a == b || (std::isnan(a) && std::isnan(b))) return;
    EXPECT_NEAR(a, b, 1e-9 * std::abs(b));
  };
  EXPECT_EQ(gpu.elements, cpu.elements);
  EXPECT_EQ(gpu.wrong, cpu.wrong);
  EXPECT_EQ(gpu.first_wrong, cpu.first_wrong);
  EXPECT_EQ(gpu.non_finite, cpu.non_finite);
  EXPECT_EQ(gpu.poisoned, cpu.poisoned);
  EXPECT_EQ(gpu.within, cpu.within);
  expect_near(gpu.got, cpu.got);
  expect_near(gpu.want, cpu.want);
  expect_near(gpu.max_ratio, cpu.max_ratio);
  expect_near(gpu.rel_l2, cpu.rel_l2);
}

class GpuComparison : public GpuTest, public testing::WithParamInterface<DType> {};

TEST_P(GpuComparison, SaysWhatTheCpuSays) {
  const DType dtype = GetParam();
  const std::vector<Tensor> tensors = {{.name = "x", .dtype = dtype, .sizes = {123457}}};
  const Payloads payloads = MakePayloads(dtype, 123457);
  const auto got = *device_->MakeArena(device::LayOut(tensors));
  const auto want = *device_->MakeArena(device::LayOut(tensors));
  const int64_t offset = got->layout().places[0].offset;
  ASSERT_THAT(got->Write(offset, payloads.got), IsOk());
  ASSERT_THAT(want->Write(offset, payloads.want), IsOk());
  for (const CompareKind kind : {CompareKind::kNumeric, CompareKind::kExact, CompareKind::kCodes}) {
    const Tolerance tolerance = {
        .kind = kind, .rtol = 1e-3, .atol_rms = 1e-4, .rel_l2 = 1e-2, .code_slack = 0.02};
    const auto gpu = device_->Compare(*got, *want, 0, tolerance);
    const auto cpu =
        device::ComparePayloads({.dtype = dtype,
                                 .elements = 123457,
                                 .got = reinterpret_cast<const std::byte*>(payloads.got.data()),
                                 .want = reinterpret_cast<const std::byte*>(payloads.want.data())},
                                tolerance);
    ASSERT_EQ(gpu.has_value(), cpu.has_value());
    if (gpu) ExpectSame(*gpu, *cpu);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryType, GpuComparison,
                         testing::Values(DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3Fn,
                                         DType::kF8E4M3Fnuz, DType::kI32, DType::kI64, DType::kU8),
                         [](const auto& type) { return std::string(DTypeName(type.param)); });

}  // namespace
}  // namespace roofmark::gpu
