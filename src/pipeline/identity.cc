// SPDX-License-Identifier: Apache-2.0
#include "pipeline/identity.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <optional>
#include <type_traits>

#include "base/files.h"
#include "base/hash.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "device/nvml.h"
#include "device/proc_fields.h"

namespace roofmark::pipeline {
namespace {

constexpr size_t kIdDigits = 8;

Json TextOrNull(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

template <typename T>
Json NumberOrNull(const std::optional<T>& value) {
  if (!value) return Json();
  if constexpr (std::is_integral_v<T>) {
    return Json(static_cast<int64_t>(*value));
  } else {
    return Json(*value);
  }
}

Json DescribeCpu() {
  const auto cpuinfo = ReadFile("/proc/cpuinfo");
  const std::string text = cpuinfo ? *cpuinfo : std::string();
  utsname system{};
  const bool known = ::uname(&system) == 0;
  return Json::MakeObject()
      .Set("model", TextOrNull(device::ProcField(text, "model name")))
      .Set("microcode", TextOrNull(device::ProcField(text, "microcode")))
      .Set("kernel", TextOrNull(known ? system.release : ""));
}

Json DescribeGpu(const device::DeviceInfo& info) {
  Json gpu = Json::MakeObject().Set("uuid", info.uuid).Set("driver", info.driver);
  const auto nvml = device::Nvml::Open(info.uuid);
  if (!nvml) return std::move(gpu.Set("nvml", nvml.error().message()));
  const device::GpuLimits limits = (*nvml)->ReadLimits();
  const device::GpuState state = (*nvml)->Read();
  return std::move(gpu.Set("power_limit_w", NumberOrNull(limits.power_limit_w))
                       .Set("max_sm_mhz", NumberOrNull(limits.max_sm_mhz))
                       .Set("max_memory_mhz", NumberOrNull(limits.max_memory_mhz))
                       .Set("sm_mhz", NumberOrNull(state.sm_mhz))
                       .Set("memory_mhz", NumberOrNull(state.memory_mhz))
                       .Set("celsius", NumberOrNull(state.celsius))
                       .Set("watts", NumberOrNull(state.watts))
                       .Set("throttled", device::ThrottleText(state.reasons)));
}

// What a compiler says of itself; empty where it cannot be run.
std::string VersionLine(const std::vector<std::string>& command) {
  return std::string(Trim(LastLineOf(command).value_or("")));
}

// Versions of Python and its packages without importing them: "3.12.3 2.11.0 3.6.0", "-" = absent.
Json DescribeCompilers(DeviceKind kind) {
  const std::string program =
      "import importlib.metadata as m, platform\n"
      "def v(n):\n"
      "  try: return m.version(n)\n"
      "  except m.PackageNotFoundError: return '-'\n"
      "print(platform.python_version(), v('torch'), v('triton'))\n";
  const std::string line = VersionLine({PythonPath(), "-c", program});
  const std::vector<std::string_view> words = Split(line, ' ');
  const auto word = [&](size_t index) {
    const bool present = words.size() == 3 && words[index] != "-";
    return TextOrNull(present ? std::string(words[index]) : std::string());
  };
  Json compilers = Json::MakeObject()
                       .Set("g++", TextOrNull(VersionLine({"g++", "-dumpfullversion"})))
                       .Set("python", word(0))
                       .Set("torch", word(1))
                       .Set("triton", word(2));
  if (kind == DeviceKind::kCuda)
    compilers.Set("nvcc", TextOrNull(VersionLine({"nvcc", "--version"})));
  return compilers;
}

std::string IdOf(const store::RunInfo& run) {
  const Json* machine = run.details.Find("machine");
  const Json* id = machine == nullptr ? nullptr : machine->Find("id");
  return id != nullptr && id->is_string() ? id->as_string() : "unknown";
}

}  // namespace

std::string MachineId(const Json& description, DeviceKind kind) {
  const bool cuda = kind == DeviceKind::kCuda;
  const Json* part = description.Find(cuda ? "gpu" : "cpu");
  std::string told;
  for (const char* key : {"uuid", "driver", "model", "microcode", "kernel"}) {
    const Json* value = part == nullptr ? nullptr : part->Find(key);
    if (value != nullptr && value->is_string()) told += value->as_string() + '\n';
  }
  return Sha256Hex(told).substr(0, kIdDigits);
}

Json DescribeMachine(const device::DeviceInfo& info) {
  Json description = Json::MakeObject()
                         .Set("cpu", DescribeCpu())
                         .Set("gpu", info.kind == DeviceKind::kCuda ? DescribeGpu(info) : Json())
                         .Set("compilers", DescribeCompilers(info.kind));
  const std::string id = MachineId(description, info.kind);
  return std::move(description.Set("id", id));
}

std::string MixedMachines(const std::vector<store::RunInfo>& runs,
                          const std::set<int64_t>& judged) {
  std::map<std::string, std::vector<int64_t>> machines;
  for (const store::RunInfo& run : runs) {
    if (judged.contains(run.id)) machines[IdOf(run)].push_back(run.id);
  }
  if (machines.size() < 2) return {};
  std::vector<std::string> parts;
  for (const auto& [id, ids] : machines) {
    parts.push_back(
        fmt::format("{} (run{} {})", id, ids.size() > 1 ? "s" : "", fmt::join(ids, ", ")));
  }
  return fmt::format(
      "these verdicts are of {} machines: {}; times of different machines are not "
      "to be compared",
      machines.size(), fmt::join(parts, ", "));
}

Result<std::string> MixedMachines(const store::Store& store,
                                  const std::vector<store::StoredVerdict>& verdicts) {
  std::set<int64_t> judged;
  for (const store::StoredVerdict& verdict : verdicts) judged.insert(verdict.run);
  return MixedMachines(TRY(store.ReadRuns()), judged);
}

}  // namespace roofmark::pipeline
