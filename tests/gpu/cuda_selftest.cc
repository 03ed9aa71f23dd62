// SPDX-License-Identifier: Apache-2.0
// Tries, on a machine with an NVIDIA GPU, each thing that Roofmark assumes of the driver, of NVRTC
// and of CUPTI, and prints what it found. Each part runs in a process of its own with a time limit,
// so that a fault or a hang in one does not hide the others.
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

#include "base/files.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/stats.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/compare.h"
#include "device/cuda_arena.h"
#include "device/cuda_device.h"
#include "device/cuda_libraries.h"
#include "device/cuda_stage.h"
#include "gate/cuda_timeline.h"
#include "meter/cubin.h"

namespace roofmark {
namespace {

using device::CudaApi;
using device::CudaArena;
using device::CudaDevice;
namespace cu = device::cu;

std::string g_self;   // this program's path, for children
std::string g_meter;  // libroofmark_meter.so

void Say(const std::string& line) {
  fmt::print("  {}\n", line);
  std::fflush(stdout);
}

// The environment that loads the meter into a child.
std::vector<std::string> MeterEnvironment() {
  std::vector<std::string> environment = {"CUDA_INJECTION64_PATH=" + g_meter};
  if (const auto cupti = device::FindCudaLibrary(device::CudaLibrary::kCupti)) {
    environment.push_back("ROOFMARK_CUPTI=" + cupti->string());
  }
  return environment;
}

Result<std::string> RunChild(std::vector<std::string> arguments,
                             std::vector<std::string> environment, double timeout_s = 60) {
  arguments.insert(arguments.begin(), g_self);
  const CommandResult result = TRY(
      RunCommand(arguments, {.timeout_s = timeout_s, .extra_environment = std::move(environment)}));
  std::string text = result.out;
  if (result.exit_code != 0) {
    text += fmt::format("[exit {}] {}", result.exit_code, result.err);
  }
  return text;
}

void PrintIndented(const std::string& text) {
  for (const std::string_view line : Split(text, '\n')) {
    if (!line.empty()) Say(std::string(line));
  }
}

// ---------------------------------------------------------------- libraries

Result<void> PartLibraries() {
  const auto nvrtc = device::FindCudaLibrary(device::CudaLibrary::kNvrtc);
  Say("NVRTC: " + (nvrtc ? nvrtc->string() : nvrtc.error().message()));
  const auto cupti = device::FindCudaLibrary(device::CudaLibrary::kCupti);
  Say("CUPTI: " + (cupti ? cupti->string() : cupti.error().message()));
  const auto start = std::chrono::steady_clock::now();
  const auto opened = TRY(CudaDevice::Open());
  const auto took = std::chrono::steady_clock::now() - start;
  const device::DeviceInfo& info = opened->info();
  Say(fmt::format("device: {} {} driver {} {} L2 {} MiB, {} SMs, free {}", info.name, info.uuid,
                  info.driver, info.arch, info.cache_bytes >> 20, info.units,
                  HumanBytes(static_cast<double>(info.memory_bytes))));
  Say(fmt::format("opening it took {} ms",
                  std::chrono::duration_cast<std::chrono::milliseconds>(took).count()));
  return {};
}

// ---------------------------------------------------------------- arenas

constexpr const char* kPoke =
    "extern \"C\" __global__ void poke(unsigned char* at) { at[threadIdx.x] = 7; }";

Result<cu::Status> Poke(const CudaDevice& opened, const std::string& cubin, cu::Pointer at) {
  const CudaApi& api = opened.api();
  cu::Module module = nullptr;
  cu::Function poke = nullptr;
  TRY(api.Check(api.module_load_data(&module, cubin.data()), "loading poke"));
  TRY(api.Check(api.module_get_function(&poke, module, "poke"), "finding poke"));
  void* arguments[] = {&at};
  TRY(api.Check(api.launch_kernel(poke, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr),
                "launching poke"));
  return api.ctx_synchronize();
}

// child: map FD BYTES r|rw|raise OFFSET
Result<void> ChildMap(const std::vector<std::string>& arguments) {
  const auto opened = TRY(CudaDevice::Open());
  const CudaApi& api = opened->api();
  const int fd = static_cast<int>(TRY(ParseInt(arguments[0])));
  const auto bytes = static_cast<size_t>(TRY(ParseInt(arguments[1])));
  const bool writable = arguments[2] == "rw";
  const auto mapping = TRY(device::CudaMapping::Import(
      api, fd, bytes, writable ? device::MapAccess::kReadWrite : device::MapAccess::kRead, 0));
  std::string head(16, '\0');
  TRY(api.Check(api.memcpy_dtoh(head.data(), mapping->address(), head.size()), "reading"));
  if (arguments[2] == "raise") {
    const cu::AccessDescription description = {.location = {}, .flags = cu::kAccessReadWrite};
    const cu::Status raised = api.mem_set_access(mapping->address(), bytes, &description, 1);
    fmt::print("raising access: {}\n", api.Describe(raised));
  }
  const std::string cubin = TRY(opened->Compile(kPoke, "poke.cu"));
  const auto at = mapping->address() + static_cast<uint64_t>(TRY(ParseInt(arguments[3])));
  const cu::Status status = TRY(Poke(*opened, cubin, at));
  fmt::print("write in child ({}): {}\n", arguments[2], api.Describe(status));
  return {};
}

Result<void> PartArenas() {
  const auto opened = TRY(CudaDevice::Open());
  const std::vector<Tensor> tensors = {{.name = "x", .dtype = DType::kBF16, .sizes = {1000, 333}},
                                       {.name = "y", .dtype = DType::kF32, .sizes = {77}}};
  const auto arena = TRY(opened->MakeArena(device::LayOut(tensors)));
  TRY(arena->Poison());
  Say(fmt::format("arena of {} maps {} bytes, fd {}; guards intact after poison: {}",
                  arena->layout().bytes, arena->mapped_bytes(), arena->fd(),
                  TRY(arena->GuardsIntact())));
  TRY(arena->Write(100, "x"));
  Say(fmt::format("guards intact after a write into one: {}", TRY(arena->GuardsIntact())));
  TRY(arena->Poison());
  const auto before = TRY(arena->Fingerprints());
  const int fd = ::dup(arena->fd());  // dup clears close-on-exec
  const std::string place = std::to_string(arena->layout().places[0].offset);
  for (const char* mode : {"r", "raise", "rw"}) {
    PrintIndented(TRY(RunChild(
        {"child-map", std::to_string(fd), std::to_string(arena->mapped_bytes()), mode, place},
        {})));
    const auto after = TRY(arena->Fingerprints());
    Say(fmt::format("judge after '{}': reads fine, data {}", mode,
                    after == before ? "unchanged" : "CHANGED"));
    TRY(arena->Poison());
  }
  ::close(fd);
  return {};
}

// ---------------------------------------------------------------- comparison

std::string RandomPayload(const Tensor& tensor, Random& random, std::string* near) {
  std::string bytes(static_cast<size_t>(tensor.Bytes()), '\0');
  const auto size = static_cast<size_t>(DTypeBytes(tensor.dtype));
  for (size_t i = 0; i < bytes.size(); i += size) {
    uint64_t bits = random.Next();
    std::memcpy(bytes.data() + i, &bits, size);
    // No NaN and no infinity in what is wanted: clear the top exponent bit.
    if (IsFloat(tensor.dtype)) bytes[i + size - 1] = static_cast<char>(bytes[i + size - 1] & 0xbf);
  }
  *near = bytes;
  for (size_t i = 0; i < bytes.size(); i += size * 97) (*near)[i] ^= 1;
  return bytes;
}

Result<void> PartCompare() {
  const auto opened = TRY(CudaDevice::Open());
  Random random(20261129);
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3Fn,
                            DType::kF8E4M3Fnuz, DType::kI32, DType::kI64, DType::kU8}) {
    const std::vector<Tensor> tensors = {{.name = "x", .dtype = dtype, .sizes = {123457}}};
    const auto got = TRY(opened->MakeArena(device::LayOut(tensors)));
    const auto want = TRY(opened->MakeArena(device::LayOut(tensors)));
    std::string near;
    const std::string wanted = RandomPayload(tensors[0], random, &near);
    if (IsFloat(dtype)) std::memset(near.data() + 4096, 0xff, 64);
    const int64_t offset = got->layout().places[0].offset;
    TRY(got->Write(offset, near));
    TRY(want->Write(offset, wanted));
    std::string line = std::string(DTypeName(dtype)) + ":";
    for (const CompareKind kind :
         {CompareKind::kNumeric, CompareKind::kExact, CompareKind::kCodes}) {
      if (kind == CompareKind::kCodes && DTypeBytes(dtype) != 1) continue;
      const Tolerance tolerance = {
          .kind = kind, .rtol = 1e-3, .atol_rms = 1e-4, .rel_l2 = 1e-2, .code_slack = 0.02};
      const auto gpu = opened->Compare(*got, *want, 0, tolerance);
      const auto cpu =
          device::ComparePayloads({.dtype = dtype,
                                   .elements = tensors[0].Elements(),
                                   .got = reinterpret_cast<const std::byte*>(near.data()),
                                   .want = reinterpret_cast<const std::byte*>(wanted.data())},
                                  tolerance);
      if (!gpu || !cpu) {
        line += fmt::format(" [gpu {} cpu {}]", gpu ? "ok" : gpu.error().message(),
                            cpu ? "ok" : cpu.error().message());
        continue;
      }
      const auto close = [](double a, double b) {
        return a == b || std::fabs(a - b) <= 1e-9 * std::fabs(b) ||
               (std::isnan(a) && std::isnan(b));
      };
      const bool same = gpu->wrong == cpu->wrong && gpu->first_wrong == cpu->first_wrong &&
                        close(gpu->got, cpu->got) && close(gpu->want, cpu->want) &&
                        close(gpu->max_ratio, cpu->max_ratio) && close(gpu->rel_l2, cpu->rel_l2) &&
                        gpu->non_finite == cpu->non_finite && gpu->poisoned == cpu->poisoned &&
                        gpu->within == cpu->within;
      line += fmt::format(" {} (wrong {}, first {}, ratio {:.3g}, l2 {:.3g}, poison {})",
                          same ? "SAME" : "DIFFERENT", gpu->wrong, gpu->first_wrong, gpu->max_ratio,
                          gpu->rel_l2, gpu->poisoned);
      if (!same) {
        line +=
            fmt::format(" cpu (wrong {}, first {}, ratio {:.3g}, l2 {:.3g}, poison {})", cpu->wrong,
                        cpu->first_wrong, cpu->max_ratio, cpu->rel_l2, cpu->poisoned);
      }
    }
    Say(line);
  }
  return {};
}

// ---------------------------------------------------------------- the worker's side

// The C interface of the injected library, found as workers find it.
struct WorkerSide {
  int (*stage_open)(const char*, uint64_t, uint64_t) = nullptr;
  int (*stage_begin)(void*, int, uint64_t) = nullptr;
  int (*stage_before)() = nullptr;
  int (*stage_after)() = nullptr;
  int (*stage_end)() = nullptr;
  int (*stage_go)() = nullptr;
  int (*stage_times)(double*, int*) = nullptr;
  void (*meter_start)() = nullptr;
  const char* (*meter_drain)() = nullptr;
  const char* (*error)() = nullptr;

  Result<void> Check(int status) const {
    if (status == 0) return {};
    return Fail(ErrorKind::kDevice, error());
  }
};

Result<WorkerSide> OpenWorkerSide() {
  void* library = ::dlopen(g_meter.c_str(), RTLD_NOW);
  if (library == nullptr) return Fail(ErrorKind::kDevice, ::dlerror());
  WorkerSide side;
  const auto bind = [library](auto*& slot, const char* name) {
    slot = reinterpret_cast<std::remove_reference_t<decltype(slot)>>(::dlsym(library, name));
  };
  bind(side.stage_open, "roofmark_stage_open");
  bind(side.stage_begin, "roofmark_stage_begin");
  bind(side.stage_before, "roofmark_stage_before");
  bind(side.stage_after, "roofmark_stage_after");
  bind(side.stage_end, "roofmark_stage_end");
  bind(side.stage_go, "roofmark_stage_go");
  bind(side.stage_times, "roofmark_stage_times");
  bind(side.meter_start, "roofmark_meter_start");
  bind(side.meter_drain, "roofmark_meter_drain");
  bind(side.error, "roofmark_error");
  return side;
}

struct Batch {
  std::vector<double> event_ns;
  double host_ns = 0;
  int held = 0;
  std::string testimony;
};

enum class Metering { kOff, kOn };

Result<Batch> RunBatch(const WorkerSide& side, cu::Stream stream, int calls, Metering metering,
                       const std::function<void(int)>& call) {
  Batch batch;
  batch.event_ns.resize(static_cast<size_t>(calls));
  if (metering == Metering::kOn) side.meter_start();
  TRY(side.Check(side.stage_begin(stream, calls, 200'000'000)));
  for (int i = 0; i < calls; ++i) {
    TRY(side.Check(side.stage_before()));
    call(i);
    TRY(side.Check(side.stage_after()));
  }
  TRY(side.Check(side.stage_end()));
  const auto start = std::chrono::steady_clock::now();
  TRY(side.Check(side.stage_go()));
  batch.host_ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  TRY(side.Check(side.stage_times(batch.event_ns.data(), &batch.held)));
  if (metering == Metering::kOn) batch.testimony = side.meter_drain();
  return batch;
}

void SayReport(const gate::MeterReport& report, const std::map<std::string, std::string>& known) {
  Say(fmt::format("meter: fault '{}', dropped {}, {} operations, {} modules named", report.fault,
                  report.dropped, report.operations.size(), report.modules.size()));
  for (size_t i = 0; i < report.names.size(); ++i) {
    const gate::MeteredName& name = report.names[i];
    int64_t total = 0;
    int count = 0;
    for (const gate::MeteredOperation& operation : report.operations) {
      if (operation.name != i) continue;
      total += operation.end_ns - operation.start_ns;
      ++count;
    }
    Say(fmt::format("{} x{} {} ns, {} modules", name.name.substr(0, 70), count, total,
                    name.modules.size()));
    for (const size_t module : name.modules) {
      const gate::MeteredModule& from = report.modules[module];
      const auto known_as = known.find(from.sha256);
      Say(fmt::format("    {} {} loader {} ({} callers: {})", from.sha256.substr(0, 12),
                      known_as == known.end() ? "(unknown hash)" : known_as->second, from.loader,
                      from.callers.size(), Join(from.callers, " < ")));
    }
  }
}

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
  return (int)cudaGetLastError();
}
)cuda";

// child: native LIBRARY STAGE_CUBIN JSON_OUT MODE
Result<void> ChildNative(const std::vector<std::string>& arguments) {
  const WorkerSide side = TRY(OpenWorkerSide());
  const CudaApi api = TRY(device::LoadCudaApi());
  TRY(api.Check(api.init(0), "cuInit"));
  cu::Context context = nullptr;
  TRY(api.Check(api.primary_ctx_retain(&context, 0), "retain"));
  TRY(api.Check(api.ctx_set_current(context), "current"));
  const std::string cubin = TRY(ReadFile(arguments[1]));
  TRY(side.Check(side.stage_open(cubin.data(), cubin.size(), 256 << 20)));
  void* library = ::dlopen(arguments[0].c_str(), RTLD_NOW);
  if (library == nullptr) return Fail(ErrorKind::kDevice, ::dlerror());
  auto* run = reinterpret_cast<int (*)(void*, int)>(::dlsym(library, "run"));
  cu::Stream stream = nullptr;
  TRY(api.Check(api.stream_create(&stream, cu::kStreamNonBlocking), "stream"));
  const int mode = static_cast<int>(TRY(ParseInt(arguments[3])));
  run(stream, mode);
  TRY(api.Check(api.ctx_synchronize(), "first call"));
  int worst = 0;
  const Batch batch = TRY(RunBatch(side, stream, 10, Metering::kOn,
                                   [&](int) { worst = std::max(worst, run(stream, mode)); }));
  TRY(WriteFile(arguments[2], batch.testimony));
  fmt::print("run's worst status {}, event median {:.0f} ns, host {:.0f} ns a call\n", worst,
             Median(batch.event_ns), batch.host_ns / 10);
  return {};
}

Result<void> PartNative() {
  const auto opened = TRY(CudaDevice::Open());
  const TempDir folder = TRY(TempDir::Make("roofmark-selftest"));
  const std::string at = folder.path().string();
  TRY(WriteFile(at + "/native.cu", kNativeSource));
  const std::string stage = TRY(opened->StageCubin());
  TRY(WriteFile(at + "/stage.cubin", stage));
  const CommandResult compiled =
      TRY(RunCommand({"nvcc", "-O3", "-arch=sm_90", "--keep", "--keep-dir", at, "-shared",
                      "-Xcompiler", "-fPIC", "-o", at + "/libnative.so", at + "/native.cu"},
                     {.timeout_s = 90}));
  if (compiled.exit_code != 0) return Fail(ErrorKind::kDevice, "nvcc: " + compiled.err);
  std::map<std::string, std::string> known = {{meter::CubinHash(stage), "stage"}};
  for (const fs::path& file : TRY(ListFolder(folder.path()))) {
    if (file.extension() != ".cubin" || file.filename() == "stage.cubin") continue;
    const std::string bytes = TRY(ReadFile(file));
    known[meter::CubinHash(bytes)] = "OWN " + file.filename().string();
    Say(fmt::format("kept {}: {} bytes, extent {}, kernels {}", file.filename().string(),
                    bytes.size(), meter::CubinExtent(bytes),
                    Join(meter::CubinKernels(bytes), " ")));
  }
  for (const char* mode : {"0", "1", "2"}) {
    const std::string json = at + "/out.json";
    PrintIndented(
        TRY(RunChild({"child-native", at + "/libnative.so", at + "/stage.cubin", json, mode},
                     MeterEnvironment())));
    const auto report = TRY(gate::ParseMeterReport(TRY(ReadJson(json))));
    if (*mode == '0') SayReport(report, known);
    const auto timeline =
        gate::CutIntoCalls(report, meter::CubinHash(stage), 10, gate::Settling::kNone);
    std::vector<double> spans;
    for (const auto& call : timeline.calls) spans.push_back(call.device_ns);
    Say(fmt::format("mode {}: span median {:.0f} ns, fault '{}', unsynchronised '{}'", mode,
                    Median(spans), timeline.fault, timeline.unsynchronised));
  }
  return {};
}

// ---------------------------------------------------------------- Python

constexpr const char* kPythonSource = R"py(
import ctypes, os, sys, time
import torch
side = ctypes.CDLL(os.environ['CUDA_INJECTION64_PATH'])
side.roofmark_meter_drain.restype = ctypes.c_char_p
side.roofmark_error.restype = ctypes.c_char_p
try:
    import triton, triton.language as tl
    @triton.jit
    def double_kernel(x, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
except ImportError:
    triton = None
x = torch.randn(1024, 1024, device='cuda', dtype=torch.bfloat16)
@torch.compile
def compiled(x):
    return torch.nn.functional.silu(x) * 3 + x.sum(-1, keepdim=True)
def work():
    torch.mm(x, x)
    torch.nn.functional.scaled_dot_product_attention(x.view(1, 8, 128, 1024)[..., :64], x.view(1, 8, 128, 1024)[..., :64], x.view(1, 8, 128, 1024)[..., :64])
    torch.nn.functional.conv2d(x.view(1, 16, 256, 256), x[:16, :144].reshape(16, 16, 3, 3))
    x.float().sum(-1)
    x.cumsum(0)
    if triton is not None:
        double_kernel[(1024,)](x, x.numel(), B=1024)
        x.mul_(0.5)
    if sys.argv[2] == 'compile':
        compiled(x)
work(); torch.cuda.synchronize()
side.roofmark_meter_start()
work(); torch.cuda.synchronize()
open(sys.argv[1], 'wb').write(side.roofmark_meter_drain())
stage = open(sys.argv[3], 'rb').read()
print('stage open', side.roofmark_stage_open(stage, ctypes.c_uint64(len(stage)), ctypes.c_uint64(256 << 20)), side.roofmark_error())
stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
n = 20
times = (ctypes.c_double * n)()
for metered in (0, 1):
    if metered: side.roofmark_meter_start()
    a = side.roofmark_stage_begin(stream, n, ctypes.c_uint64(50000000))
    for i in range(n):
        side.roofmark_stage_before()
        torch.mm(x, x)
        side.roofmark_stage_after()
    side.roofmark_stage_end()
    t = time.perf_counter_ns()
    b = side.roofmark_stage_go()
    t = time.perf_counter_ns() - t
    held = ctypes.c_int()
    side.roofmark_stage_times(times, ctypes.byref(held))
    if metered: text = side.roofmark_meter_drain()
    print('stage', a, b, 'held', held.value, 'metered', metered, 'event median', sorted(times)[n // 2], 'ns; host a call', t / n, 'ns')
open(sys.argv[1] + '.stage', 'wb').write(text)
)py";

Result<void> PartPython() {
  const auto opened = TRY(CudaDevice::Open());
  const TempDir folder = TRY(TempDir::Make("roofmark-selftest"));
  const std::string at = folder.path().string();
  TRY(WriteFile(at + "/try.py", kPythonSource));
  const std::string stage = TRY(opened->StageCubin());
  TRY(WriteFile(at + "/stage.cubin", stage));
  std::vector<std::string> environment = MeterEnvironment();
  environment.push_back("TRITON_CACHE_DIR=" + at + "/triton");
  environment.push_back("TORCHINDUCTOR_CACHE_DIR=" + at + "/inductor");
  const CommandResult result = TRY(
      RunCommand({PythonPath(), at + "/try.py", at + "/out.json", "compile", at + "/stage.cubin"},
                 {.timeout_s = 150, .extra_environment = environment}));
  PrintIndented(result.out);
  if (result.exit_code != 0)
    Say("python: " + result.err.substr(result.err.size() > 1500 ? result.err.size() - 1500 : 0));
  std::map<std::string, std::string> known = {{meter::CubinHash(stage), "stage"}};
  std::error_code ignored;
  for (const auto& file : fs::recursive_directory_iterator(folder.path(), ignored)) {
    if (file.path().extension() != ".cubin") continue;
    const auto bytes = ReadFile(file.path());
    if (bytes) {
      known[meter::CubinHash(*bytes)] = file.path().lexically_relative(folder.path()).string();
    }
  }
  const auto report = TRY(gate::ParseMeterReport(TRY(ReadJson(at + "/out.json"))));
  SayReport(report, known);
  const auto staged = TRY(gate::ParseMeterReport(TRY(ReadJson(at + "/out.json.stage"))));
  const auto timeline =
      gate::CutIntoCalls(staged, meter::CubinHash(stage), 20, gate::Settling::kNone);
  std::vector<double> spans;
  for (const auto& call : timeline.calls) spans.push_back(call.device_ns);
  Say(fmt::format("staged mm: span median {:.0f} ns, fault '{}', unsynchronised '{}'",
                  Median(spans), timeline.fault, timeline.unsynchronised));
  return {};
}

// ---------------------------------------------------------------- clocks

constexpr const char* kCopySource = R"cuda(
extern "C" __global__ void copy(const uint4* from, uint4* to, unsigned long long n) {
  const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = from[i];
}
extern "C" __global__ void nothing() {}
// Reads with the hint that the lines should stay.
extern "C" __global__ void sticky(const uint4* from, uint4* sink, unsigned long long n) {
  const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v;
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0,%1,%2,%3}, [%4], %5;" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i), "l"(policy));
  if (v.x == 0x12345678 && v.y == 0x9abcdef0 && v.z == 42 && v.w == 43) *sink = v;
}
extern "C" __global__ void plain(const uint4* from, uint4* sink, unsigned long long n) {
  const unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from + i));
  if (v.x == 0x12345678 && v.y == 0x9abcdef0 && v.z == 42 && v.w == 43) *sink = v;
}
)cuda";

struct ClockLine {
  std::string kernel;
  double megabytes = 0;
};

// child: clocks COPY_CUBIN STAGE_CUBIN
Result<void> ChildClocks(const std::vector<std::string>& arguments) {
  const WorkerSide side = TRY(OpenWorkerSide());
  const CudaApi api = TRY(device::LoadCudaApi());
  TRY(api.Check(api.init(0), "cuInit"));
  cu::Context context = nullptr;
  TRY(api.Check(api.primary_ctx_retain(&context, 0), "retain"));
  TRY(api.Check(api.ctx_set_current(context), "current"));
  const std::string stage = TRY(ReadFile(arguments[1]));
  const std::string stage_hash = meter::CubinHash(stage);
  TRY(side.Check(side.stage_open(stage.data(), stage.size(), 256 << 20)));
  const std::string cubin = TRY(ReadFile(arguments[0]));
  cu::Module module = nullptr;
  TRY(api.Check(api.module_load_data(&module, cubin.data()), "load"));
  cu::Pointer from = 0;
  cu::Pointer to = 0;
  TRY(api.Check(api.mem_alloc(&from, 256 << 20), "alloc"));
  TRY(api.Check(api.mem_alloc(&to, 256 << 20), "alloc"));
  TRY(api.Check(api.memset_d8_async(from, 0x5a, 256 << 20, nullptr), "set"));
  cu::Stream stream = nullptr;
  TRY(api.Check(api.stream_create(&stream, cu::kStreamNonBlocking), "stream"));
  const std::vector<ClockLine> lines = {{"nothing", 0}, {"copy", 1},   {"copy", 4},  {"copy", 16},
                                        {"copy", 32},   {"copy", 64},  {"plain", 8}, {"sticky", 8},
                                        {"plain", 32},  {"sticky", 32}};
  fmt::print("kernel MB | span us (min..max) | event off, on | event-span | host diff a call\n");
  for (const ClockLine& line : lines) {
    cu::Function kernel = nullptr;
    TRY(api.Check(api.module_get_function(&kernel, module, line.kernel.c_str()), "function"));
    auto vectors = static_cast<uint64_t>(line.megabytes * 1e6) / 16;
    const auto blocks = static_cast<unsigned>(std::max<uint64_t>(1, (vectors + 255) / 256));
    void* kernel_arguments[] = {&from, &to, &vectors};
    const auto call = [&](int) {
      api.launch_kernel(kernel, blocks, 1, 1, 256, 1, 1, 0, stream, kernel_arguments, nullptr);
    };
    const int calls = 100;
    TRY(RunBatch(side, stream, calls, Metering::kOff, call));
    const Batch off = TRY(RunBatch(side, stream, calls, Metering::kOff, call));
    const Batch empty = TRY(RunBatch(side, stream, calls, Metering::kOff, [](int) {}));
    const Batch off2 = TRY(RunBatch(side, stream, calls, Metering::kOff, call));
    const Batch empty2 = TRY(RunBatch(side, stream, calls, Metering::kOff, [](int) {}));
    const Batch on = TRY(RunBatch(side, stream, calls, Metering::kOn, call));
    const auto report = TRY(gate::ParseMeterReport(TRY(Json::Parse(on.testimony))));
    const auto timeline =
        gate::CutIntoCalls(report, stage_hash, static_cast<size_t>(calls), gate::Settling::kNone);
    std::vector<double> spans;
    for (const auto& one : timeline.calls) spans.push_back(one.device_ns / 1e3);
    fmt::print(
        "{} {} | {:.2f} ({:.2f}..{:.2f}) | {:.2f}, {:.2f} | {:.2f} | {:.2f} {:.2f} | held {} "
        "{}{}\n",
        line.kernel, line.megabytes, Median(spans), Quantile(spans, 0), Quantile(spans, 1),
        Median(off.event_ns) / 1e3, Median(on.event_ns) / 1e3,
        Median(on.event_ns) / 1e3 - Median(spans), (off.host_ns - empty.host_ns) / 1e3 / calls,
        (off2.host_ns - empty2.host_ns) / 1e3 / calls, on.held, timeline.fault,
        timeline.unsynchronised);
  }
  return {};
}

Result<void> PartClocks() {
  const auto opened = TRY(CudaDevice::Open());
  const TempDir folder = TRY(TempDir::Make("roofmark-selftest"));
  const std::string at = folder.path().string();
  TRY(WriteFile(at + "/copy.cubin", TRY(opened->Compile(kCopySource, "copy.cu"))));
  TRY(WriteFile(at + "/stage.cubin", TRY(opened->StageCubin())));
  for (int process = 0; process < 2; ++process) {
    PrintIndented(TRY(RunChild({"child-clocks", at + "/copy.cubin", at + "/stage.cubin"},
                               MeterEnvironment(), 100)));
  }
  return {};
}

// ---------------------------------------------------------------- entry

struct Named {
  const char* name;
  Result<void> (*part)();
};
constexpr Named kParts[] = {{"libraries", PartLibraries}, {"arenas", PartArenas},
                            {"compare", PartCompare},     {"native", PartNative},
                            {"clocks", PartClocks},       {"python", PartPython}};

struct NamedChild {
  const char* name;
  Result<void> (*child)(const std::vector<std::string>&);
};
constexpr NamedChild kChildren[] = {
    {"child-map", ChildMap}, {"child-native", ChildNative}, {"child-clocks", ChildClocks}};

int RunAll() {
  int failed = 0;
  for (const Named& part : kParts) {
    fmt::print("== {}\n", part.name);
    std::fflush(stdout);
    const auto result = RunCommand({g_self, part.name}, {.timeout_s = 200});
    if (!result) {
      fmt::print("  FAILED: {}\n", result.error().message());
      ++failed;
      continue;
    }
    fmt::print("{}", result->out);
    if (result->exit_code != 0) {
      fmt::print("  FAILED (exit {}): {}\n", result->exit_code, Trim(result->err));
      ++failed;
    }
    std::fflush(stdout);
  }
  fmt::print("{} of {} parts failed\n", failed, std::size(kParts));
  return failed == 0 ? 0 : 1;
}

int Report(const Result<void>& result) {
  if (result) return 0;
  fmt::print(stderr, "{}\n", result.error().message());
  return 1;
}

}  // namespace
}  // namespace roofmark

int main(int argc, char** argv) {
  using namespace roofmark;
  ::alarm(540);
  g_self = fs::canonical("/proc/self/exe").string();
  g_meter = (fs::path(g_self).parent_path().parent_path() / "lib/libroofmark_meter.so").string();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty()) return RunAll();
  for (const Named& part : kParts) {
    if (arguments[0] == part.name) return Report(part.part());
  }
  for (const NamedChild& child : kChildren) {
    if (arguments[0] == child.name)
      return Report(child.child({arguments.begin() + 1, arguments.end()}));
  }
  fmt::print(stderr, "no such part: {}\n", arguments[0]);
  return 2;
}
