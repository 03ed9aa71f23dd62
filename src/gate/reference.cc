// SPDX-License-Identifier: Apache-2.0
#include "gate/reference.h"

#include <fmt/format.h>

#include <array>
#include <system_error>

#include "gate/ledger.h"

namespace roofmark::gate {
namespace {

// Published attention shapes take a GPU well under a minute; a 2-core CPU only sees small tiers.
constexpr double kReferenceTimeoutS = 300;
// Importing PyTorch from a cold disk.
constexpr double kStartTimeoutS = 120;

fs::path Canonical(const fs::path& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  return error ? path : canonical;
}

// What the worker of an operator sees: all operators that come with Roofmark, or that one alone. A
// user's operators are kept apart, since nobody knows what theirs leave behind in a process.
fs::path HomeOf(const Operator& op) {
  const fs::path folder = Canonical(op.folder);
  const Result<fs::path> data = DataDir();
  if (data && folder.parent_path() == Canonical(*data / "operators")) return folder.parent_path();
  return folder;
}

}  // namespace

std::string InputName(size_t slot) {
  return fmt::format("in{}", slot);
}

Json MapRequest(const std::string& name, const device::Arena& arena, MapAccess access) {
  Json tensors = Json::MakeArray();
  for (const device::TensorPlace& place : arena.layout().places) {
    tensors.Push(
        Json::MakeObject()
            .Set("name", place.tensor.name)
            .Set("dtype", DTypeName(place.tensor.dtype))
            .Set("sizes", Json::Array(place.tensor.sizes.begin(), place.tensor.sizes.end()))
            .Set("offset", place.offset));
  }
  return Json::MakeObject()
      .Set("do", "map")
      .Set("arena", name)
      .Set("access", access == MapAccess::kRead ? "r" : "rw")
      .Set("bytes", arena.mapped_bytes())
      .Set("tensors", std::move(tensors));
}

Json UnmapRequest(const std::string& name) {
  return Json::MakeObject().Set("do", "unmap").Set("arena", name);
}

Result<Reference> Reference::Start(const Operator& op, DeviceKind device) {
  Reference reference = TRY(Spawn(op, device));
  TRY(reference.Load(op));
  return reference;
}

Result<Reference> Reference::Spawn(const Operator& op, DeviceKind device) {
  const Stretch stretch(Part::kWorkerStart);
  TempDir scratch = TRY(TempDir::Make("roofmark-reference"));
  fs::path home = HomeOf(op);
  worker::WorkerSpec spec{.kind = worker::WorkerKind::kReference,
                          .device = device,
                          .folder = home,
                          .scratch = scratch.path()};
  std::unique_ptr<worker::Worker> worker =
      TRY_IN(worker::SpawnWorker(spec), "starting the reference worker of " + op.name);
  return Reference(std::move(home), std::move(scratch), std::move(worker));
}

bool Reference::Serves(const Operator& op) const {
  return home_ == HomeOf(op);
}

Result<void> Reference::Load(const Operator& op) {
  const Stretch stretch(Part::kWorkerStart);
  if (!greeted_) {
    TRY_IN(worker_->Greet(kStartTimeoutS), "starting the reference worker of " + op.name);
    greeted_ = true;
  }
  if (name_ == op.name) return {};
  name_ = op.name;
  const fs::path file = Canonical(op.folder) / "reference.py";
  Result<void> loaded =
      Ask(Json::MakeObject()
              .Set("do", "load")
              .Set("path", (fs::path("/candidate") / file.lexically_relative(home_)).string()));
  if (!loaded) name_.clear();
  return loaded;
}

Result<void> Reference::Ask(const Json& request, std::span<const int> fds) {
  const worker::Answer<Json> answer = TRY(worker_->Ask(request, kReferenceTimeoutS, fds));
  if (answer) return {};
  const ErrorKind kind = answer.error().outcome == Outcome::kTimedOut      ? ErrorKind::kTimeout
                         : answer.error().outcome == Outcome::kOutOfMemory ? ErrorKind::kDevice
                                                                           : ErrorKind::kInput;
  return Fail(kind,
              fmt::format("reference of {}: '{}' failed: {}\n{}", name_,
                          request.Find("do")->as_string(), answer.error().reason, worker_->Log()));
}

Result<void> Reference::Map(const std::string& name, const device::Arena& arena) {
  const std::array<int, 1> fds = {arena.fd()};
  return Ask(MapRequest(name, arena, MapAccess::kReadWrite), fds);
}

Result<void> Reference::Unmap(const std::string& name) {
  return Ask(UnmapRequest(name));
}

Result<void> Reference::Inputs(std::span<const Draw> draws, const Workload& workload,
                               const std::string& regime) {
  Json list = Json::MakeArray();
  for (const Draw& draw : draws) {
    list.Push(Json::MakeObject().Set("arena", draw.arena).Set("seed", draw.seed));
  }
  return Ask(Json::MakeObject()
                 .Set("do", "inputs")
                 .Set("draws", std::move(list))
                 .Set("shape", AxesToJson(workload.axes))
                 .Set("regime", regime));
}

Result<void> Reference::Expected(const std::string& in, const std::string& out,
                                 const Workload& workload) {
  return Ask(Json::MakeObject()
                 .Set("do", "expected")
                 .Set("in", in)
                 .Set("out", out)
                 .Set("shape", AxesToJson(workload.axes)));
}

Result<std::vector<std::string>> Reference::OwnRegimes() {
  const worker::Answer<Json> answer =
      TRY(worker_->Ask(Json::MakeObject().Set("do", "regimes"), kReferenceTimeoutS));
  if (!answer) return Fail(ErrorKind::kInput, name_ + ": its regimes: " + answer.error().reason);
  std::vector<std::string> regimes;
  for (const Json& regime : TRY(answer->ArrayAt("regimes"))->array()) {
    if (!regime.is_string()) return Fail(ErrorKind::kInput, name_ + ": a regime is no text");
    regimes.push_back(regime.as_string());
  }
  return regimes;
}

Result<std::vector<AdmissionProgram>> Reference::Programs() {
  const worker::Answer<Json> answer =
      TRY(worker_->Ask(Json::MakeObject().Set("do", "programs"), kReferenceTimeoutS));
  if (!answer) {
    return Fail(ErrorKind::kInput, fmt::format("the admission programs of {} do not load: {}",
                                               name_, answer.error().reason));
  }
  std::vector<AdmissionProgram> programs;
  for (const Json& row : TRY(answer->ArrayAt("programs"))->array()) {
    AdmissionProgram program{.name = TRY(row.String("name"))};
    const Json* const honest = row.Find("honest");
    program.honest = honest != nullptr && honest->is_bool() && honest->as_bool();
    for (const Json& regime : TRY(row.ArrayAt("regimes"))->array()) {
      if (!regime.is_string()) return Fail(ErrorKind::kInput, name_ + ": a regime is no text");
      program.regimes.push_back(regime.as_string());
    }
    programs.push_back(std::move(program));
  }
  return programs;
}

Result<worker::Answer<bool>> Reference::RunProgram(const std::string& program,
                                                   const std::string& in, const std::string& out,
                                                   const Workload& workload) {
  worker::Answer<Json> answer = TRY(worker_->Ask(Json::MakeObject()
                                                     .Set("do", "program")
                                                     .Set("name", program)
                                                     .Set("in", in)
                                                     .Set("out", out)
                                                     .Set("shape", AxesToJson(workload.axes)),
                                                 kReferenceTimeoutS));
  if (!answer) return worker::Answer<bool>(std::unexpected(std::move(answer.error())));
  const Json* const applies = answer->Find("applies");
  return worker::Answer<bool>(applies != nullptr && applies->is_bool() && applies->as_bool());
}

}  // namespace roofmark::gate
