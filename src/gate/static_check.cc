// SPDX-License-Identifier: Apache-2.0
#include "gate/static_check.h"

#include <fmt/format.h>

#include <memory>

#include "gate/text_at.h"
#include "worker/worker.h"

namespace roofmark::gate {
namespace {

constexpr double kCheckTimeoutS = 300;

bool IsTrue(const Json& reply, std::string_view key) {
  const Json* const value = reply.Find(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

// The reply is a worker's word, and says nothing that a verdict rests on.
std::string Checked(const Json& reply) {
  std::string text = TextAt(reply, "text") + "; " + TextAt(reply, "compiler");
  if (IsTrue(reply, "precompiled")) {
    text += ", and precompile() compiled with it";
  } else if (IsTrue(reply, "installed")) {
    text += IsTrue(reply, "precompiles") ? "" : "; nothing was compiled: no precompile() is there";
  }
  return text;
}

}  // namespace

bool RunsOn(Lane lane, DeviceKind device) {
  if (lane == Lane::kFlyDsl) return false;
  if (lane == Lane::kCpp) return device == DeviceKind::kCpu;
  return !NeedsGpu(lane) || device == DeviceKind::kCuda;
}

std::string_view PlaceOf(Lane lane) {
  if (lane == Lane::kFlyDsl) return "an AMD GPU, which this version does not drive";
  return lane == Lane::kCpp ? "a CPU (--device cpu)" : "an NVIDIA GPU (--device cuda)";
}

std::string NotRun(Lane lane, DeviceKind device, std::string_view checked) {
  return fmt::format("lane {} runs on {}; on device {} it was checked, not run: {}", LaneName(lane),
                     PlaceOf(lane), DeviceKindName(device), checked);
}

Result<StaticFinding> CheckText(Lane lane, DeviceKind device, const std::filesystem::path& folder,
                                const std::filesystem::path& scratch, Json load) {
  const std::unique_ptr<worker::Worker> worker =
      TRY_IN(worker::StartWorker({.kind = worker::WorkerKind::kPython,
                                  .device = DeviceKind::kCpu,
                                  .folder = folder,
                                  .scratch = scratch}),
             "starting a worker to check a candidate");
  load.Set("do", "check").Set("precompile", true);
  const worker::Answer<Json> answer = TRY(worker->Ask(load, kCheckTimeoutS));
  if (answer) return StaticFinding{.reason = NotRun(lane, device, Checked(*answer))};
  StaticFinding finding{.outcome = answer.error().outcome, .reason = answer.error().reason};
  if (const std::string log = worker->Log(); !log.empty()) finding.reason += "\n" + log;
  if (finding.outcome == Outcome::kTimedOut) finding.outcome = Outcome::kCompileTimeout;
  return finding;
}

}  // namespace roofmark::gate
