// SPDX-License-Identifier: Apache-2.0
// roofmark doctor: what this machine can do, what is missing, and how to get it. It never fails: a
// machine without a GPU is a machine, and its verdicts say at what level they were reached.
#include <fmt/format.h>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/args.h"
#include "device/device.h"
#include "report/report.h"
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

Finding DeviceFinding(std::string what, const Result<std::unique_ptr<device::Device>>& device) {
  return FromResult(std::move(what), device ? Result<std::string>(Describe((*device)->info()))
                                            : Result<std::string>(std::unexpected(device.error())));
}

Result<std::string> LastLine(const std::vector<std::string>& command) {
  const CommandResult result = TRY(RunCommand(command));
  if (result.exit_code != 0) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{} ended with {}: {}", Join(command, " "), result.exit_code,
                            Split(Trim(result.err), '\n').back()));
  }
  return std::string(Split(Trim(result.out), '\n').back());
}

Result<std::string> PyTorch() {
  const std::string python = PythonPath();
  auto version = LastLine({python, "-c", "import torch; print(torch.__version__)"});
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

std::vector<Finding> Examine() {
  std::vector<Finding> findings;
  findings.push_back(DeviceFinding("cpu", device::OpenCpu()));
  findings.push_back(DeviceFinding("cuda device", device::OpenCuda()));
  findings.push_back(FromResult("sandbox", SandboxLevel()));
  findings.push_back(FromResult("references (PyTorch)", PyTorch()));
  findings.push_back(FromResult("lane cpp (g++)", LastLine({"g++", "-dumpfullversion"})));
  findings.push_back(FromResult("lane cuda (nvcc)", LastLine({"nvcc", "--version"})));
  findings.push_back(FromResult(
      "lane triton", LastLine({PythonPath(), "-c", "import triton; print(triton.__version__)"})));
  findings.push_back(FromResult("ncu", LastLine({"ncu", "--version"})));
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
