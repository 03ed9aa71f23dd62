// SPDX-License-Identifier: Apache-2.0
#include "gate/sanitize.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "worker/sanitizer.h"

namespace roofmark::gate {
namespace {

// A call under racecheck takes up to a thousand times as long.
constexpr double kTimeoutS = 300;
// The tool keeps a shadow of memory, and the inputs travel through files.
constexpr int64_t kMostBytes = int64_t{1} << 30;

int64_t PayloadOf(const Workload& workload) {
  int64_t bytes = 0;
  for (const auto* tensors : {&workload.inputs, &workload.outputs}) {
    for (const Tensor& tensor : *tensors) bytes += tensor.Bytes();
  }
  return bytes;
}

// Writes the slot's inputs into files of the folder, and says how a call on them is made.
Result<Json> RequestFor(Session& session, const Contestant& contestant, size_t slot,
                        const fs::path& folder) {
  const Workload& workload = session.workload();
  const auto row = [](const Tensor& tensor, const std::string& file) {
    return Json::MakeObject()
        .Set("name", tensor.name)
        .Set("dtype", DTypeName(tensor.dtype))
        .Set("sizes", Json(Json::Array(tensor.sizes.begin(), tensor.sizes.end())))
        .Set("file", file);
  };
  const auto file_of = [](const Tensor& tensor) { return tensor.name + ".bin"; };
  Json inputs = Json::MakeArray();
  for (const device::TensorPlace& place : session.input(slot).layout().places) {
    const std::string bytes = TRY(session.input(slot).Read(place.offset, place.tensor.Bytes()));
    TRY(WriteFile(folder / file_of(place.tensor), bytes));
    inputs.Push(row(place.tensor, file_of(place.tensor)));
  }
  Json outputs = Json::MakeArray();
  for (const Tensor& tensor : workload.outputs) {
    // What is updated in place holds the input of its name.
    outputs.Push(row(tensor, tensor.in_place ? file_of(tensor) : ""));
  }
  return Json::MakeObject()
      .Set("load", contestant.LoadRequest())
      .Set("init", Json::MakeObject()
                       .Set("shape", AxesToJson(workload.axes))
                       .Set("construct", workload.shape.construct))
      .Set("native", IsNative(contestant.candidate().lane))
      .Set("inputs", std::move(inputs))
      .Set("outputs", std::move(outputs));
}

// One tool on one candidate: false when it found something, and the verdict is written.
Result<bool> Check(Contestant& contestant, const worker::SanitizedCall& call, std::string* note) {
  const Result<worker::SanitizerReport> report = worker::RunSanitized(call);
  if (!report && report.error().kind() == ErrorKind::kTimeout) {
    *note += fmt::format("{} not done after {:g} s; ", call.tool, call.timeout_s);
    return true;
  }
  if (!report) return std::unexpected(report.error());
  if (report->errors == 0) {
    *note += call.tool + " clean; ";
    return true;
  }
  contestant.Refuse(Gate::kCorrectness, Outcome::kRuntimeError,
                    fmt::format("compute-sanitizer {}: {} error{}, first: {}", call.tool,
                                report->errors, report->errors == 1 ? "" : "s", report->first));
  return false;
}

}  // namespace

Result<SanitizerNotes> RunSanitizer(Session& session, const std::vector<Contestant*>& contestants,
                                    const JudgeOptions& options) {
  SanitizerNotes notes;
  if (!options.sanitize) return notes;
  const fs::path sanitizer = TRY(worker::FindSanitizer());
  const int64_t bytes = PayloadOf(session.workload());
  constexpr size_t kSlot = 0;
  TRY(session.Refill(kSlot, "typical"));
  for (Contestant* contestant : contestants) {
    if (contestant->candidate().role != Role::kCandidate || contestant->decided()) continue;
    std::string note = "compute-sanitizer: ";
    if (bytes > kMostBytes) {
      notes[contestant] =
          note + fmt::format("not run on operands of {}", HumanBytes(static_cast<double>(bytes)));
      continue;
    }
    const TempDir scratch = TRY(TempDir::Make("roofmark-sanitize"));
    const Json request = TRY(RequestFor(session, *contestant, kSlot, scratch.path()));
    TRY(WriteFile(scratch.path() / "request.json", request.Dump()));
    const std::string program = TRY(contestant->LoadRequest().String("path"));
    bool clean = true;
    for (const char* tool : {"memcheck", "racecheck"}) {
      clean = clean && TRY(Check(*contestant,
                                 {.sanitizer = sanitizer,
                                  .tool = tool,
                                  .folder = contestant->run_folder(),
                                  .program = program,
                                  .scratch = scratch.path(),
                                  .timeout_s = kTimeoutS},
                                 &note));
    }
    if (clean) notes[contestant] = note.substr(0, note.size() - 2);
  }
  return notes;
}

}  // namespace roofmark::gate
