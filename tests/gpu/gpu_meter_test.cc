// SPDX-License-Identifier: Apache-2.0
// The meter in real processes: a library that nvcc built, and a Python program with PyTorch, Triton
// and a compiled function.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/stats.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "base/text.h"
#include "gate/cuda_provenance.h"
#include "gpu/gpu_bench.h"
#include "meter/cubin.h"

namespace roofmark::gpu {

namespace cu = device::cu;

constexpr int kCalls = 10;
constexpr uint64_t kFlushBytes = uint64_t{128} << 20;

// Loads a library with `run(stream, mode)` and makes a metered batch of calls.
Result<void> PlayNative(const std::vector<std::string>& arguments) {
  const WorkerSide side = TRY(OpenWorkerSide());
  const device::CudaApi api = TRY(OpenDriver());
  const std::string cubin = TRY(ReadFile(arguments[1]));
  TRY(side.Check(side.stage_open(cubin.data(), cubin.size(), kFlushBytes)));
  void* library = ::dlopen(arguments[0].c_str(), RTLD_NOW);
  if (library == nullptr) return Fail(ErrorKind::kDevice, ::dlerror());
  auto* run = reinterpret_cast<int (*)(void*, int)>(::dlsym(library, "run"));
  cu::Stream stream = nullptr;
  TRY(api.Check(api.stream_create(&stream, cu::kStreamNonBlocking), "making a stream"));
  const int mode = static_cast<int>(TRY(ParseInt(arguments[3])));
  int worst = run(stream, mode);
  TRY(api.Check(api.ctx_synchronize(), "the first call"));
  const Batch batch = TRY(RunBatch(side, stream, kCalls, Metering::kOn,
                                   [&](int) { worst = std::max(worst, run(stream, mode)); }));
  if (worst != 0) return Fail(ErrorKind::kDevice, fmt::format("run returned {}", worst));
  if (!batch.held && mode != 3) return Fail(ErrorKind::kDevice, "the hold ended too early");
  if (batch.held && mode == 3) return Fail(ErrorKind::kDevice, "the hold outlived a waiting call");
  return WriteFile(arguments[2], batch.testimony);
}

namespace {

// Mode 0 is honest; 1 works on a stream of its own; 2 also fills; 3 waits for the device.
constexpr const char* kNativeSource = R"cuda(
#include <cuda_runtime.h>
template <typename T> __global__ void scale(T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = x[i] * T(2);
}
static float* data = nullptr;
static cudaStream_t side = nullptr;
extern "C" int run(void* stream, int mode) {
  const int n = 1 << 22;
  if (data == nullptr && cudaMalloc(&data, n * sizeof(float)) != cudaSuccess) return 1;
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  scale<float><<<n / 256, 256, 0, mode == 1 ? side : (cudaStream_t)stream>>>(data, n);
  if (mode == 2) cudaMemsetAsync(data, 0, n, (cudaStream_t)stream);
  if (mode == 3) cudaStreamSynchronize((cudaStream_t)stream);
  return (int)cudaGetLastError();
}
)cuda";

class GpuMeter : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (device_ == nullptr) return;
    stage_ = *device_->StageCubin();
    ASSERT_THAT(WriteFile(At("stage.cubin"), stage_), IsOk());
  }
  std::string At(const std::string& name) const { return (folder_.path() / name).string(); }

  // Compiled once: nvcc takes some ten seconds.
  void BuildNative() {
    static const TempDir folder = *TempDir::Make("roofmark-gpu-nvcc");
    const auto in = [](const char* name) { return (folder.path() / name).string(); };
    library_ = in("libnative.so");
    if (!fs::exists(library_)) {
      ASSERT_THAT(WriteFile(in("native.cu"), kNativeSource), IsOk());
      const auto compiled = RunCommand({"nvcc", "-O3", "-arch=" + device_->info().arch, "--keep",
                                        "--keep-dir", folder.path().string(), "-shared",
                                        "-Xcompiler", "-fPIC", "-o", library_, in("native.cu")},
                                       {.timeout_s = 100});
      ASSERT_THAT(compiled, IsOk());
      ASSERT_EQ(compiled->exit_code, 0) << compiled->err;
    }
    const std::vector<fs::path> kept = *ListFolder(folder.path());
    for (const fs::path& file : kept) {
      if (file.extension() == ".cubin") {
        provenance_.own_code.push_back(meter::CubinHash(*ReadFile(file)));
      }
    }
    provenance_.lane = Lane::kCuda;
  }
  gate::MeterReport Native(const char* mode) {
    EXPECT_THAT(
        Start({"native", library_, At("stage.cubin"), At("out.json"), mode}, Injection::kMeter),
        IsOk());
    return *gate::ParseMeterReport(*ReadJson(At("out.json")));
  }
  gate::Timeline Cut(const gate::MeterReport& report) const {
    return gate::CutIntoCalls(report, meter::CubinHash(stage_), kCalls, {});
  }

  TempDir folder_ = *TempDir::Make("roofmark-gpu-test");
  std::string stage_;
  std::string library_;
  gate::Provenance provenance_;
};

TEST_F(GpuMeter, KnowsAnNvccBuiltKernelByTheCubinThatTheCompilerKept) {
  BuildNative();
  const gate::MeterReport report = Native("0");
  const gate::Timeline timeline = Cut(report);
  EXPECT_EQ(timeline.fault, "");
  EXPECT_EQ(timeline.unsynchronised, "");
  for (const gate::CallSpan& call : timeline.calls) {
    ASSERT_EQ(call.operations.size(), 1U);
    const auto& operation = report.operations[call.operations[0]];
    EXPECT_EQ(gate::OwnerOf(report, operation, provenance_), Owner::kOwn);
    EXPECT_GT(call.device_ns, 3'000);
  }
}

TEST_F(GpuMeter, SeesWorkOnASideStream) {
  BuildNative();
  EXPECT_NE(Cut(Native("1")).unsynchronised, "");
}

TEST_F(GpuMeter, CountsAFillAsPartOfItsCall) {
  BuildNative();
  const gate::MeterReport report = Native("2");
  const gate::Timeline timeline = Cut(report);
  EXPECT_EQ(timeline.unsynchronised, "");
  EXPECT_EQ(timeline.calls[3].operations.size(), 2U);
}

TEST_F(GpuMeter, DoesNotHangWhenACallWaitsForTheDevice) {
  BuildNative();
  EXPECT_EQ(Cut(Native("3")).fault, "");
}

constexpr const char* kPythonSource = R"py(
import ctypes, os, sys
import torch, triton, triton.language as tl
side = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
side.roofmark_meter_drain.restype = ctypes.c_char_p
@triton.jit
def double_kernel(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
x = torch.randn(1024, 1024, device="cuda", dtype=torch.bfloat16)
@torch.compile
def compiled(x):
    return torch.nn.functional.silu(x) * 3 + x.sum(-1, keepdim=True)
def work():
    torch.mm(x, x)
    x.cumsum(0)
    double_kernel[(1024,)](x, x.numel(), B=1024)
    compiled(x)
work(); torch.cuda.synchronize()
side.roofmark_meter_start()
work(); torch.cuda.synchronize()
open(sys.argv[1], "wb").write(side.roofmark_meter_drain())
)py";

TEST_F(GpuMeter, TellsWhoOwnsEachKernelOfAPythonProgram) {
  if (RunCommand({PythonPath(), "-c", "import torch, triton"})->exit_code != 0) {
    GTEST_SKIP() << PythonPath() << " has no PyTorch with Triton";
  }
  ASSERT_THAT(WriteFile(At("try.py"), kPythonSource), IsOk());
  std::vector<std::string> environment = MeterEnvironment();
  environment.push_back("TRITON_CACHE_DIR=" + At("triton"));
  environment.push_back("TORCHINDUCTOR_CACHE_DIR=" + At("inductor"));
  const auto ran = RunCommand({PythonPath(), At("try.py"), At("out.json")},
                              {.timeout_s = 200, .extra_environment = environment});
  ASSERT_THAT(ran, IsOk());
  ASSERT_EQ(ran->exit_code, 0) << ran->err;
  const auto report = gate::ParseMeterReport(*ReadJson(At("out.json")));
  ASSERT_THAT(report, IsOk());
  const gate::Provenance provenance = {.lane = Lane::kTriton,
                                       .jit_kernels = gate::JitKernelNames(kPythonSource)};
  std::map<Owner, int> count;
  for (const auto& operation : report->operations) {
    const Owner owner = gate::OwnerOf(*report, operation, provenance);
    ++count[owner];
    EXPECT_NE(owner, Owner::kUnknown) << report->names[operation.name].name;
  }
  EXPECT_EQ(count[Owner::kDsl], 1);
  EXPECT_EQ(count[Owner::kCompiler], 1);
  EXPECT_GE(count[Owner::kVendor], 1);
  EXPECT_GE(count[Owner::kFramework], 1);
}

}  // namespace
}  // namespace roofmark::gpu
