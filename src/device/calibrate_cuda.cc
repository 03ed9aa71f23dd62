// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <memory>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/calibrate.h"
#include "device/calibrate_cuda_source.h"
#include "device/cuda_device.h"
#include "device/cuda_libraries.h"
#include "device/rates.h"

namespace roofmark::device {
namespace {

constexpr int kRepetitions = 15;
constexpr int kWarmUps = 3;
// Far more than any L2 cache.
constexpr size_t kMemoryBytes = size_t{1} << 30;
constexpr unsigned kThreads = 512;

struct Launch {
  const char* kernel;
  unsigned blocks;
  unsigned threads;
  void** arguments;
};

// Kernels, events and buffers of one calibration.
class Bench {
 public:
  explicit Bench(CudaDevice& device) : device_(device), api_(device.api()) {}
  ~Bench() {
    if (from_ != 0) api_.mem_free(from_);
    if (to_ != 0) api_.mem_free(to_);
    for (const cu::Event event : events_) api_.event_destroy(event);
    if (module_ != nullptr) api_.module_unload(module_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Result<void> Open() {
    const std::string cubin = TRY(device_.Compile(CalibrationSource(), "calibrate.cu"));
    TRY(api_.Check(api_.module_load_data(&module_, cubin.data()), "loading calibration kernels"));
    TRY(api_.Check(api_.mem_alloc(&from_, kMemoryBytes), "allocating 1 GiB"));
    TRY(api_.Check(api_.mem_alloc(&to_, kMemoryBytes), "allocating 1 GiB"));
    // Not zeros: they draw less power, and clocks follow power.
    TRY(api_.Check(api_.memset_d8_async(from_, 0x5a, kMemoryBytes, nullptr), "filling"));
    for (cu::Event& event : events_) {
      TRY(api_.Check(api_.event_create(&event, 0), "creating an event"));
    }
    return {};
  }

  Result<void> Start(const Launch& launch) {
    cu::Function function = nullptr;
    TRY(api_.Check(api_.module_get_function(&function, module_, launch.kernel), launch.kernel));
    return api_.Check(api_.launch_kernel(function, launch.blocks, 1, 1, launch.threads, 1, 1, 0,
                                         nullptr, launch.arguments, nullptr),
                      launch.kernel);
  }

  // Seconds of each repetition, by events around the launch. The kernels run about a millisecond,
  // so the two microseconds of an event pair do not matter.
  Result<std::vector<double>> Seconds(const Launch& launch) {
    for (int i = 0; i < kWarmUps; ++i) TRY(Start(launch));
    for (int i = 0; i < kRepetitions; ++i) {
      TRY(api_.Check(api_.event_record(events_[static_cast<size_t>(i)], nullptr), "an event"));
      TRY(Start(launch));
    }
    TRY(api_.Check(api_.event_record(events_[kRepetitions], nullptr), "an event"));
    TRY(api_.Check(api_.ctx_synchronize(), launch.kernel));
    std::vector<double> seconds;
    for (size_t i = 0; i < kRepetitions; ++i) {
      float ms = 0;
      TRY(api_.Check(api_.event_elapsed_ms(&ms, events_[i], events_[i + 1]), "reading events"));
      seconds.push_back(static_cast<double>(ms) / 1e3);
    }
    return seconds;
  }

  unsigned units() const { return static_cast<unsigned>(device_.info().units); }
  cu::Pointer& from() { return from_; }
  cu::Pointer& to() { return to_; }

 private:
  CudaDevice& device_;
  CudaApi api_;
  cu::Module module_ = nullptr;
  cu::Pointer from_ = 0;
  cu::Pointer to_ = 0;
  std::array<cu::Event, kRepetitions + 1> events_{};
};

Result<void> MeasureMemory(Bench& bench, Ceilings* ceilings) {
  struct Mix {
    const char* kernel;
    double bytes;
    const char* how;
  };
  constexpr auto kBytes = static_cast<double>(kMemoryBytes);
  constexpr std::array<Mix, 3> kMixes = {{{"calibrate_read", kBytes, "read-only kernel"},
                                          {"calibrate_write", kBytes, "write-only kernel"},
                                          {"calibrate_copy", 2 * kBytes, "copy kernel"}}};
  uint64_t vectors = kMemoryBytes / 16;
  void* arguments[] = {&bench.from(), &bench.to(), &vectors};
  std::string others;
  for (const Mix& mix : kMixes) {
    const Rate rate =
        RateOf(mix.bytes, TRY(bench.Seconds({mix.kernel, bench.units() * 8, kThreads, arguments})));
    others +=
        fmt::format("{}{} {:.2f} TB/s", others.empty() ? "" : ", ", mix.how, rate.per_s / 1e12);
    Offer(&ceilings->memory_bytes_per_s, ceilings, "memory", rate,
          std::string(mix.how) + " over 1 GiB");
  }
  ceilings->sources["memory"] += " (" + others + ")";
  return {};
}

struct Arithmetic {
  const char* kernel;
  Engine engine;
  unsigned threads;
  double ops_per_thread_step;
  int steps;
  const char* how;
};

// A step of calibrate_fma is 64 multiply-adds a thread; one of the matrix kernels is 8 instructions
// of 2 * 16 * 8 * k operations a warp.
constexpr std::array<Arithmetic, 5> kArithmetic = {
    {{"calibrate_fma", Engine::kVectorF32, 512, 128, 4096, "chains of FP32 fused multiply-adds"},
     {"calibrate_exp2", Engine::kSpecial, 512, 64, 1024, "chains of ex2.approx"},
     {"calibrate_mma_bf16", Engine::kTensorBF16, 256, 8 * 4096 / 32.0, 4096, "mma.sync bf16"},
     {"calibrate_mma_f16", Engine::kTensorF16, 256, 8 * 4096 / 32.0, 4096, "mma.sync fp16"},
     {"calibrate_mma_tf32", Engine::kTensorTf32, 256, 8 * 2048 / 32.0, 4096, "mma.sync tf32"}}};

Result<void> MeasureArithmetic(Bench& bench, Ceilings* ceilings) {
  for (const Arithmetic& one : kArithmetic) {
    float a = 0.9999F;
    float b = 0.0001F;
    int steps = one.steps;
    const unsigned blocks = bench.units() * 4;
    void* arguments[] = {&bench.to(), &a, &b, &steps};
    const double work = one.ops_per_thread_step * one.steps * blocks * one.threads;
    const Rate rate =
        RateOf(work, TRY(bench.Seconds({one.kernel, blocks, one.threads, arguments})));
    Offer(&ceilings->ops_per_s[static_cast<size_t>(one.engine)], ceilings,
          std::string(EngineName(one.engine)), rate, one.how);
  }
  return {};
}

// PyTorch's own libraries know instructions that plain kernels cannot reach. The script prints
// {"torch": version, "tensor_bf16": {"ops": n, "seconds": [..]}, ...}.
Result<std::string> MeasureMatrices(Ceilings* ceilings) {
  const fs::path script = TRY(DataDir()) / "examples/calibrate_matmul.py";
  const CommandResult ran = TRY(RunCommand({PythonPath(), script.string()}, {.timeout_s = 120}));
  if (ran.exit_code != 0) {
    const std::string_view words = Trim(ran.err);
    return Fail(
        ErrorKind::kDevice,
        fmt::format(
            "{} failed: {}", script.string(),
            words.substr(words.rfind('\n') == std::string_view::npos ? 0 : words.rfind('\n') + 1)));
  }
  const Json found = TRY(Json::Parse(ran.out));
  for (const Json::Member& member : found.object()) {
    if (!member.second.is_object()) continue;
    const Engine engine = TRY(ParseEngine(member.first));
    std::vector<double> seconds;
    for (const Json& second : TRY(member.second.ArrayAt("seconds"))->array()) {
      if (second.is_number()) seconds.push_back(second.as_double());
    }
    if (seconds.empty()) continue;
    Offer(&ceilings->ops_per_s[static_cast<size_t>(engine)], ceilings, member.first,
          RateOf(TRY(member.second.Double("ops")), seconds), TRY(member.second.String("how")));
  }
  return "PyTorch " + TRY(found.String("torch"));
}

// The spans of an empty kernel as the meter records them, in seconds. Empty without a meter.
Result<std::vector<double>> MeasureFloor(Bench& bench, const fs::path& meter) {
  void* library = ::dlopen(meter.c_str(), RTLD_NOW);
  if (library == nullptr) return std::vector<double>();
  auto* const start = reinterpret_cast<void (*)()>(::dlsym(library, "roofmark_meter_start"));
  auto* const drain = reinterpret_cast<const char* (*)()>(::dlsym(library, "roofmark_meter_drain"));
  if (start == nullptr || drain == nullptr) return std::vector<double>();
  start();
  TRY(bench.Seconds({"calibrate_nothing", 1, 32, nullptr}));
  const Json report = TRY(Json::Parse(drain()));
  std::vector<double> seconds;
  for (const Json& operation : TRY(report.ArrayAt("operations"))->array()) {
    const Json::Array& fields = operation.array();
    seconds.push_back(static_cast<double>(fields[3].as_int() - fields[2].as_int()) * 1e-9);
  }
  return seconds;
}

// So that the driver loads the meter into this process too, when it initialises.
fs::path InjectMeter() {
  const auto meter = FindMeter();
  if (!meter) return {};
  ::setenv("CUDA_INJECTION64_PATH", meter->c_str(), 1);
  if (const auto cupti = FindCudaLibrary(CudaLibrary::kCupti)) {
    ::setenv("ROOFMARK_CUPTI", cupti->c_str(), 1);
  }
  return *meter;
}

}  // namespace

Result<Calibration> CalibrateCuda() {
  const fs::path meter = InjectMeter();
  const auto device = TRY(CudaDevice::Open());
  // The interpreter for the matrix rates is no place for the meter.
  ::unsetenv("CUDA_INJECTION64_PATH");
  Calibration found{.device_name = device->info().name,
                    .arch = device->info().arch,
                    .cache_bytes = static_cast<double>(device->info().cache_bytes)};
  Bench bench(*device);
  TRY(bench.Open());
  TRY(MeasureMemory(bench, &found.ceilings));
  TRY(MeasureArithmetic(bench, &found.ceilings));
  found.note = fmt::format("{}, {}, driver {}, clocks left as they are", Today(),
                           device->info().name, device->info().driver);
  if (const auto matrices = MeasureMatrices(&found.ceilings)) {
    found.note += ", matrix rates through " + *matrices;
  } else {
    found.note += ", matrix rates by mma instructions only (" + matrices.error().message() + ")";
  }
  const std::vector<double> floor =
      meter.empty() ? std::vector<double>() : TRY(MeasureFloor(bench, meter));
  if (floor.empty()) {
    found.note += ", no launch floor: the meter or CUPTI is missing";
    return found;
  }
  found.ceilings.launch_floor_s = Median(floor);
  found.ceilings.sources["launch_floor"] =
      fmt::format("CUPTI span of an empty kernel, median of {}, {:.0f} to {:.0f} ns", floor.size(),
                  Quantile(floor, 0) * 1e9, Quantile(floor, 1) * 1e9);
  return found;
}

}  // namespace roofmark::device
