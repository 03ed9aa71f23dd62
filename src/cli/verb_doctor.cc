// SPDX-License-Identifier: Apache-2.0
// roofmark doctor: what this machine can do, what is missing, and how to get it. It never fails: a
// machine without a GPU is a machine, and its verdicts say at what level they were reached.
#include <fmt/format.h>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "candidate/build_options.h"
#include "cli/args.h"
#include "device/cuda_libraries.h"
#include "device/device.h"
#include "device/nvml.h"
#include "gate/static_check.h"
#include "report/report.h"
#include "worker/level.h"
#include "worker/worker.h"

namespace roofmark::cli {
namespace {

struct Finding {
  std::string what;
  bool present = false;
  std::string detail;  // what was found, or what is missing and how to get it
};

Finding FromResult(std::string what, const Result<std::string>& result) {
  return {.what = std::move(what),
          .present = result.has_value(),
          .detail = result ? *result : result.error().message()};
}

std::string Describe(const device::DeviceInfo& info) {
  return fmt::format("{} ({}, {} units, cache {}, {} free, {})", info.name, info.arch, info.units,
                     HumanBytes(static_cast<double>(info.cache_bytes)),
                     HumanBytes(static_cast<double>(info.memory_bytes)), info.driver);
}

std::string DescribeClocks(const device::Nvml& nvml) {
  const device::GpuState state = nvml.Read();
  const device::GpuLimits limits = nvml.ReadLimits();
  const auto told = [](const auto& value, const char* unit) {
    return value ? fmt::format("{} {}", *value, unit) : fmt::format("? {}", unit);
  };
  const std::string throttled = device::ThrottleText(state.reasons);
  return fmt::format("SM {} of {}, memory {}, {} of {}, {}{}", told(state.sm_mhz, "MHz"),
                     told(limits.max_sm_mhz, "MHz"), told(state.memory_mhz, "MHz"),
                     told(state.watts, "W"), told(limits.power_limit_w, "W"),
                     told(state.celsius, "degrees"),
                     throttled.empty() ? "" : "; throttled: " + throttled);
}

Finding DeviceFinding(std::string what, const Result<std::unique_ptr<device::Device>>& device) {
  return FromResult(std::move(what), device ? Result<std::string>(Describe((*device)->info()))
                                            : Result<std::string>(std::unexpected(device.error())));
}

Result<std::string> PyTorch() {
  const std::string python = PythonPath();
  auto version = LastLineOf({python, "-c", "import torch; print(torch.__version__)"});
  if (!version) {
    return Fail(ErrorKind::kNotFound,
                python +
                    " has no PyTorch, which references need; install python3-torch and "
                    "libopenblas0-pthread, or set ROOFMARK_PYTHON");
  }
  return fmt::format("{} in {}", *version, python);
}

// What a worker is really held by here, as each verdict will state it.
Result<std::string> SandboxLevel() {
  const TempDir folder = TRY(TempDir::Make("roofmark-doctor"));
  const TempDir scratch = TRY(TempDir::Make("roofmark-doctor"));
  const auto worker =
      TRY(worker::StartWorker({.folder = folder.path(), .scratch = scratch.path()}));
  return worker->level();
}

// Clocks are watched through NVML; which GPU is asked for is what CUDA calls device 0.
Finding NvmlFinding() {
  const auto cuda = device::OpenCuda();
  Result<std::string> told = std::unexpected(Error(ErrorKind::kDevice, ""));
  if (cuda) {
    const auto nvml = device::Nvml::Open((*cuda)->info().uuid);
    told = nvml ? Result<std::string>(DescribeClocks(**nvml)) : std::unexpected(nvml.error());
  } else if (const auto library = device::LoadNvml(); library) {
    told = Fail(ErrorKind::kDevice, "libnvidia-ml.so.1 is here, but no GPU that CUDA can open");
  } else {
    told = std::unexpected(library.error());
  }
  return FromResult("clocks (NVML)", told);
}

std::vector<Finding> SandboxFindings() {
  const Result<std::string> level = SandboxLevel();
  std::vector<Finding> findings = {FromResult("sandbox", level)};
  for (worker::LevelPart& part : worker::ExplainLevel(level ? *level : "")) {
    findings.push_back({.what = "sandbox: " + part.name,
                        .present = part.present,
                        .detail = std::move(part.means)});
  }
  return findings;
}

// A lane whose compiler is a Python package. Packages are looked for without importing them: some
// want a GPU for that.
Finding PackageFinding(Lane lane, const std::string& package, const std::string& distribution,
                       const std::string& install) {
  const std::string program =
      "import importlib.util as u, importlib.metadata as m, os, sys\n"
      "first, *rest = sys.argv[1].split('.')\n"
      "s = u.find_spec(first)\n"
      "d = [os.path.join(f, *rest) for f in (s.submodule_search_locations or ())] if s else []\n"
      "assert any(map(os.path.isdir, d))\n"
      "print(m.version(sys.argv[2]))\n";
  const auto version = LastLineOf({PythonPath(), "-c", program, package, distribution});
  const std::string runs = fmt::format("runs on {}", gate::PlaceOf(lane));
  return {.what = fmt::format("lane {}", LaneName(lane)),
          .present = version.has_value(),
          .detail = version ? fmt::format("{} {}; {}", distribution, *version, runs)
                            : fmt::format("{} has no {}: {} -m pip install {}; without it the text "
                                          "of a candidate is checked; {}",
                                          PythonPath(), package, PythonPath(), install, runs)};
}

Finding CudaFinding() {
  const auto nvcc = LastLineOf({"nvcc", "--version"});
  const auto nvrtc = device::FindCudaLibrary(device::CudaLibrary::kNvrtc);
  std::string detail = nvcc ? *nvcc : nvcc.error().message();
  detail += nvrtc ? "; compiler = \"nvrtc\": " + nvrtc->string() : "; no NVRTC";
  if (!nvcc) detail += "; both come with the CUDA toolkit";
  return {.what = "lane cuda (nvcc, NVRTC)",
          .present = nvcc.has_value() || nvrtc.has_value(),
          .detail = detail};
}

std::vector<Finding> LaneFindings() {
  std::vector<Finding> findings;
  findings.push_back(FromResult("lane cpp (g++)", LastLineOf({"g++", "-dumpfullversion"})));
  findings.push_back(CudaFinding());
  for (const char* library : {"cutlass", "cub"}) {
    const auto folders = candidate::HeaderFolders(library);
    findings.push_back(
        {.what = fmt::format("headers of {}", library),
         .present = folders.has_value(),
         .detail = folders ? candidate::DescribeLibrary(library) : folders.error().message()});
  }
  findings.push_back(PackageFinding(Lane::kTriton, "triton.language", "triton", "triton"));
  findings.push_back(
      PackageFinding(Lane::kGluon, "triton.experimental.gluon", "triton", "'triton>=3.5'"));
  findings.push_back(
      PackageFinding(Lane::kCuteDsl, "cutlass.cute", "nvidia-cutlass-dsl", "nvidia-cutlass-dsl"));
  findings.push_back(PackageFinding(Lane::kTileLang, "tilelang", "tilelang", "tilelang"));
  findings.push_back(PackageFinding(Lane::kFlyDsl, "flydsl", "flydsl", "flydsl"));
  auto torch = FromResult("lane torch", PyTorch());
  if (torch.present) torch.detail += "; baselines, on any device";
  findings.push_back(std::move(torch));
  return findings;
}

std::vector<Finding> Examine() {
  std::vector<Finding> findings;
  findings.push_back(DeviceFinding("cpu", device::OpenCpu()));
  findings.push_back(DeviceFinding("cuda device", device::OpenCuda()));
  findings.push_back(NvmlFinding());
  for (Finding& finding : SandboxFindings()) findings.push_back(std::move(finding));
  findings.push_back(FromResult("references (PyTorch)", PyTorch()));
  for (Finding& finding : LaneFindings()) findings.push_back(std::move(finding));
  findings.push_back(FromResult("ncu", LastLineOf({"ncu", "--version"})));
  const auto chart = report::FindPlotly();
  findings.push_back(FromResult("report's chart library",
                                chart ? Result<std::string>(chart->string())
                                      : Result<std::string>(std::unexpected(chart.error()))));
  return findings;
}

}  // namespace

Result<int> Doctor(const DoctorArgs& args) {
  for (const Finding& finding : Examine()) {
    if (args.format == Format::kJson) {
      fmt::print("{}\n", Json::MakeObject()
                             .Set("what", finding.what)
                             .Set("present", finding.present)
                             .Set("detail", finding.detail)
                             .Dump());
    } else {
      fmt::print("{} {:24} {}\n", finding.present ? "yes" : "no ", finding.what,
                 ValidUtf8(finding.detail));
    }
  }
  return 0;
}

}  // namespace roofmark::cli
