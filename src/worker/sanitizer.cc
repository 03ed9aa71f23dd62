// SPDX-License-Identifier: Apache-2.0
#include "worker/sanitizer.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <system_error>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "worker/file_tree.h"
#include "worker/python_files.h"
#include "worker/sandbox.h"

namespace roofmark::worker {
namespace {

constexpr std::string_view kMargin = "=========";
constexpr const char* kReport = "sanitizer.txt";
// memcheck alone knows padding: bytes behind each allocation that belong to nobody. Small operands
// lie close together, and without it a read behind one of them finds its neighbour.
constexpr const char* kPaddingBytes = "65536";
constexpr uint64_t kFileBytes = uint64_t{4} << 30;
constexpr uint64_t kProcesses = 2048;
constexpr uint64_t kTemporaryBytes = uint64_t{4} << 30;

// The number that stands before `word` in the text; nothing where it does not occur.
std::optional<int64_t> NumberBefore(std::string_view text, std::string_view word) {
  const size_t at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = Trim(text.substr(0, at));
  const size_t start = before.find_last_not_of("0123456789");
  const Result<int64_t> number =
      ParseInt(before.substr(start == std::string_view::npos ? 0 : start + 1));
  return number ? std::optional(*number) : std::nullopt;
}

// "ERROR SUMMARY: 3 errors", or "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)".
std::optional<int64_t> ErrorsIn(std::string_view summary) {
  const size_t open = summary.find('(');
  return NumberBefore(open == std::string_view::npos ? summary : summary.substr(open), " error");
}

bool IsFinding(std::string_view line) {
  if (line.empty() || line.starts_with("COMPUTE-SANITIZER")) return false;
  return !line.starts_with("Warning:") && !line.starts_with("Target application");
}

}  // namespace

Result<fs::path> FindSanitizer() {
  std::vector<fs::path> places;
  if (const char* const named = std::getenv("ROOFMARK_SANITIZER")) places.emplace_back(named);
  if (const auto found = FindProgram("compute-sanitizer")) places.emplace_back(*found);
  places.emplace_back("/usr/local/cuda/bin/compute-sanitizer");
  places.emplace_back("/usr/local/cuda/compute-sanitizer/compute-sanitizer");
  for (const fs::path& place : places) {
    std::error_code error;
    if (!fs::is_regular_file(place, error)) continue;
    const fs::path real = fs::canonical(place, error);
    if (!error) return real;
  }
  return Fail(ErrorKind::kNotFound,
              "compute-sanitizer was not found: install the CUDA toolkit's package "
              "cuda-sanitizer-api (or put its folder into PATH, or its path into "
              "ROOFMARK_SANITIZER), or judge without --sanitize");
}

Result<SanitizerReport> ReadSanitizerReport(std::string_view text) {
  SanitizerReport report;
  bool ended = false;
  bool located = false;
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with(kMargin)) continue;
    line.remove_prefix(kMargin.size());
    const bool detail = line.starts_with("     ");
    line = Trim(line);
    if (line.find("SUMMARY:") != std::string_view::npos) {
      const std::optional<int64_t> errors = ErrorsIn(line);
      if (!errors) continue;
      ended = true;
      report.errors += *errors;
    } else if (!detail && report.first.empty() && IsFinding(line)) {
      report.first = line;
    } else if (detail && !report.first.empty() && !located) {
      report.first = fmt::format("{} {}", report.first, line);
      located = true;
    }
  }
  if (!ended) return Fail(ErrorKind::kInput, "compute-sanitizer printed no summary");
  if (report.errors == 0) report.first.clear();
  return report;
}

Result<SanitizerReport> RunSanitized(const SanitizedCall& call) {
  const std::string python = PythonPath();
  SandboxSpec spec{
      .tree = TRY(PlanTree({.folder = call.folder,
                            .scratch = call.scratch,
                            .python = python,
                            .device = DeviceKind::kCuda,
                            .libraries = Libraries::kShown,
                            .shown = {call.sanitizer.parent_path()},
                            .temporary_bytes = kTemporaryBytes})),
      .argv = {call.sanitizer.string(), "--tool", call.tool, "--report-api-errors", "no",
               "--log-file", std::string("/scratch/") + kReport, python, "-s", "-B",
               "/roofmark/roofmark_sanitize.py", "/scratch/request.json", call.program},
      .environment = BaseEnvironment(),
      .file_bytes = kFileBytes,
      .processes = kProcesses,
      .loopback = true};
  if (call.tool == "memcheck") {
    spec.argv.insert(spec.argv.begin() + 1, {"--padding", kPaddingBytes});
  }
  // Each tensor gets an allocation of its own, and no larger one that others are cut from.
  spec.environment.emplace_back("PYTORCH_NO_CUDA_MEMORY_CACHING=1");
  AddPythonFiles(PythonAudience::kCandidate, &spec.tree);
  const std::unique_ptr<Sandbox> sandbox = TRY(Sandbox::Start(std::move(spec)));
  const std::optional<int> code = sandbox->WaitForExit(After(call.timeout_s));
  sandbox->Kill();
  if (!code) {
    return Fail(ErrorKind::kTimeout, fmt::format("compute-sanitizer {} was not done after {:g} s",
                                                 call.tool, call.timeout_s));
  }
  const Result<std::string> text = ReadFile(call.scratch / kReport);
  const Result<SanitizerReport> report = ReadSanitizerReport(text ? *text : "");
  if (report && report->errors > 0) return report;
  const std::string log = sandbox->Log();
  if (report && log.find("the call returned") != std::string::npos) return report;
  return Fail(ErrorKind::kDevice,
              fmt::format("compute-sanitizer {} does not work here: {}\n{}\n{}", call.tool,
                          report ? "the call failed under it" : report.error().message(),
                          text ? *text : "", log));
}

}  // namespace roofmark::worker
