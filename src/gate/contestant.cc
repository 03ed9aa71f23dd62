// SPDX-License-Identifier: Apache-2.0
#include "gate/contestant.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "candidate/build.h"
#include "candidate/build_options.h"
#include "candidate/vendor.h"
#include "device/cuda_libraries.h"
#include "gate/clear_text.h"
#include "gate/cuda_provenance.h"
#include "gate/ghost.h"
#include "gate/ledger.h"
#include "gate/recompile.h"
#include "gate/static_check.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

// JIT compilation and autotuning belong to init; a torch.compile of a large graph takes a minute.
constexpr double kInitTimeoutS = 300;
constexpr double kCompileTimeoutS = 180;
// Importing PyTorch from a cold disk.
constexpr double kStartTimeoutS = 120;

// On a CPU the judge waits at the doorbell on a core of its own; threads of the candidate that
// shared it would be timed waiting for the judge.
std::vector<std::string> ThreadLimits(const device::DeviceInfo& device) {
  if (device.kind != DeviceKind::kCpu) return {};
  const int threads = std::max(1, device.units - 1);
  std::vector<std::string> limits;
  for (const char* name :
       {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ROOFMARK_THREADS"}) {
    limits.push_back(fmt::format("{}={}", name, threads));
  }
  return limits;
}

Result<void> CopyFile(const fs::path& from, const fs::path& to) {
  return WriteFile(to, TRY(ReadFile(from)));
}

}  // namespace

std::string Contestant::OutputName(size_t slot) {
  return fmt::format("out{}", slot);
}

Result<std::unique_ptr<Contestant>> Contestant::Make(Candidate candidate, const Operator& op,
                                                     const device::DeviceInfo& device) {
  TempDir stage = TRY(TempDir::Make("roofmark-candidate"));
  std::unique_ptr<Contestant> contestant(
      new Contestant(std::move(candidate), op, device, std::move(stage)));
  TRY(contestant->CopySources());
  return contestant;
}

// Only the candidate's own files are staged, so that its worker sees no sibling and no history.
Result<void> Contestant::CopySources() {
  for (const char* folder : {"src", "include/roofmark", "build", "scratch", "run"}) {
    std::error_code error;
    fs::create_directories(stage_.path() / folder, error);
    if (error) return Fail(ErrorKind::kIo, stage_.path().string() + ": " + error.message());
  }
  for (const fs::path& source : candidate_.sources) {
    TRY(CopyFile(candidate_.folder / source, stage_.path() / "src" / source));
    TRY(CopyFile(candidate_.folder / source, stage_.path() / "run" / source));
  }
  for (const fs::path& include : candidate_.include_paths) {
    std::error_code error;
    fs::copy(candidate_.folder / include, stage_.path() / "src" / include,
             fs::copy_options::recursive, error);
    if (error) return Fail(ErrorKind::kIo, include.string() + ": " + error.message());
  }
  TRY(WriteFile(stage_.path() / "include/roofmark/abi.h", candidate::AbiHeader()));
  if (candidate_.compiler == "nvrtc") {
    TRY(WriteFile(stage_.path() / "include/roofmark/driver.h", candidate::DriverHeader()));
    TRY(WriteFile(stage_.path() / "include/roofmark/nvrtc.cc", candidate::NvrtcProgramText()));
  }
  if (!candidate_.operator_alias.empty()) {
    Operator alias = op_;
    alias.name = candidate_.operator_alias;
    TRY(WriteFile(stage_.path() / "include/roofmark" / (alias.name + ".h"),
                  candidate::ContractHeader(alias)));
  }
  return WriteFile(stage_.path() / "include/roofmark" / (op_.name + ".h"),
                   candidate::ContractHeader(op_));
}

Result<void> Contestant::Compile() {
  const Stretch stretch(Part::kCompile, account());
  provenance_.lane = candidate_.lane;
  provenance_.stage = stage_.path().string();
  if (!RunsOn(candidate_.lane, device_.kind)) return CheckOnly();
  if (IsNative(candidate_.lane)) return CompileNative();
  // Python lanes compile in their worker, in init; here only the file's place is known.
  provenance_.path = "/candidate/" + candidate_.sources.front().string();
  for (const fs::path& source : candidate_.sources) {
    const std::string text = TRY(ReadFile(candidate_.folder / source));
    std::ranges::move(JitKernelNames(text, candidate_.lane),
                      std::back_inserter(provenance_.jit_kernels));
    const bool python = source.extension() == ".py";
    std::ranges::move(CudaKernelNames(python ? PythonStrings(text) : text),
                      std::back_inserter(cuda_kernels_));
    texts_[source.filename().string()] = text;
  }
  return {};
}

// On a machine without the lane's device: what is wrong in any case, else what is missing.
Result<void> Contestant::CheckOnly() {
  if (!IsNative(candidate_.lane)) {
    StaticFinding finding = TRY(CheckText(candidate_.lane, device_.kind, stage_.path() / "run",
                                          stage_.path() / "scratch", LoadRequest()));
    compile_outcome_ = finding.outcome;
    compile_reason_ = std::move(finding.reason);
    return {};
  }
  const Result<void> compiled = CompileNative();
  if (!compiled && compiled.error().kind() != ErrorKind::kNotFound) return compiled;
  if (compile_outcome_ != Outcome::kNotRun) return {};
  const std::string checked =
      compiled ? std::string("it compiles and links to no vendor library")
               : "nothing, since its compiler is missing: " + compiled.error().message();
  compile_outcome_ = Outcome::kUnsupported;
  compile_reason_ = NotRun(candidate_.lane, device_.kind, checked);
  return {};
}

Result<void> Contestant::CompileNative() {
  // Without a GPU there is no architecture to ask for; code is checked for the one that Roofmark's
  // published results are from.
  const bool has_arch = candidate_.lane != Lane::kCuda || device_.kind == DeviceKind::kCuda;
  std::string nvrtc;
  if (candidate_.compiler == "nvrtc") {
    nvrtc = TRY(device::FindCudaLibrary(device::CudaLibrary::kNvrtc)).string();
  }
  const candidate::BuildPlan plan = TRY(candidate::PlanBuild(
      candidate_, "/candidate", "/include", "/scratch", has_arch ? device_.arch : "sm_90", nvrtc));
  const worker::Answer<std::string> answer =
      TRY(worker::RunSandboxed({.argv = plan.command,
                                .folder = stage_.path() / "src",
                                .include = stage_.path() / "include",
                                .scratch = stage_.path() / "build",
                                .shown = plan.shown,
                                .timeout_s = kCompileTimeoutS}));
  if (!answer) {
    const bool late = answer.error().outcome == Outcome::kTimedOut;
    compile_outcome_ = late ? Outcome::kCompileTimeout : Outcome::kCompileError;
    compile_reason_ = answer.error().reason;
    return {};
  }
  return KeepProduct(plan.library, plan.device_code);
}

// Moves what the compiler made out of its scratch folder, so that the candidate cannot rewrite it.
Result<void> Contestant::KeepProduct(const fs::path& library, const fs::path& device_code) {
  const auto outside = [&](const fs::path& inside) {
    return stage_.path() / "build" / inside.lexically_relative("/scratch");
  };
  const fs::path built = outside(library);
  if (!fs::exists(built)) {
    compile_outcome_ = Outcome::kCompileError;
    compile_reason_ = "the compiler succeeded but made no library";
    return {};
  }
  const std::optional<std::string> vendor = TRY(candidate::VendorSymbol(built));
  if (vendor) {
    compile_outcome_ = Outcome::kVendorLibrary;
    compile_reason_ = "links against a vendor library: " + *vendor;
    return {};
  }
  TRY(CopyFile(built, stage_.path() / "run" / library.filename()));
  provenance_.path = "/candidate/" + library.filename().string();
  if (device_code.empty()) return {};
  for (const fs::path& kept : TRY(ListFolder(outside(device_code)))) {
    if (kept.extension() != ".cubin") continue;
    own_cubins_.push_back(TRY(ReadFile(kept)));
    provenance_.own_code.push_back(meter::CubinHash(own_cubins_.back()));
    provenance_.launches_from_device |= meter::LaunchesFromDevice(own_cubins_.back());
  }
  return {};
}

bool Contestant::StartVerdict(const Workload& workload) {
  verdict = Verdict{.operator_name = op_.name,
                    .shape = workload.shape.id,
                    .phase = workload.shape.phase,
                    .candidate = candidate_.name,
                    .candidate_hash = candidate_.content_hash,
                    .lane = candidate_.lane,
                    .role = candidate_.role,
                    .device = device_.name,
                    .mode = candidate_.mode};
  code.clear();
  gate_ = Gate::kCompile;
  if (compile_outcome_ != Outcome::kNotRun) {
    Refuse(Gate::kCompile, compile_outcome_, compile_reason_);
  }
  return !decided();
}

void Contestant::Refuse(Gate gate, Outcome outcome, std::string reason) {
  verdict.gate = gate;
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  if (worker_ != nullptr) verdict.level = worker_->level();
  // Header-only libraries of this machine count as the candidate's own source, and are listed.
  for (const std::string& library : candidate_.libraries) {
    verdict.level += fmt::format("{}own headers {}", verdict.level.empty() ? "" : "; ",
                                 candidate::DescribeLibrary(library));
  }
}

Result<bool> Contestant::Judge(worker::Mishap mishap) {
  std::string reason = std::move(mishap.reason);
  if (const std::string log = worker_->Log(); !log.empty()) reason += "\n" + log;
  Refuse(gate_, mishap.outcome, std::move(reason));
  // Whatever state it is in now, the next workload gets a fresh process.
  worker_.reset();
  mapped_.clear();
  TRY_IN(memory_.CheckAfterDeath(), "after " + candidate_.name + " was refused");
  return false;
}

Result<bool> Contestant::HoldsLittle() {
  TRY(memory_.After());
  if (!memory_.suspicious()) return true;
  const std::string level = worker_->level();
  const std::optional<std::string> conviction = TRY(memory_.Convict([this] { worker_.reset(); }));
  mapped_.clear();
  if (!conviction) {
    return Fail(ErrorKind::kDevice, "another program took device memory while " + candidate_.name +
                                        " was judged; judge again when the device is free");
  }
  Refuse(gate_, Outcome::kOutOfMemory, *conviction);
  verdict.level = level;
  return false;
}

template <typename T, typename Act>
Result<bool> Contestant::Watched(Act act, T* result) {
  TRY(memory_.Before());
  worker::Answer<T> answer = TRY(act());
  if (!answer) return Judge(std::move(answer.error()));
  if (result != nullptr) *result = std::move(*answer);
  return HoldsLittle();
}

Result<bool> Contestant::Ask(const Json& request, double timeout_s, Json* reply,
                             std::span<const int> fds) {
  return Watched([&] { return worker_->Ask(request, timeout_s, fds); }, reply);
}

worker::WorkerSpec Contestant::SpecOfWorker() const {
  std::vector<std::string> environment = ThreadLimits(device_);
  if (CompilesByTriton(candidate_.lane)) environment.emplace_back("ROOFMARK_AHEAD=triton");
  return {
      .kind = IsNative(candidate_.lane) ? worker::WorkerKind::kNative : worker::WorkerKind::kPython,
      .device = device_.kind,
      .folder = stage_.path() / "run",
      .scratch = stage_.path() / "scratch",
      .environment = std::move(environment)};
}

Result<void> Contestant::Prestart() {
  if (IsNative(candidate_.lane) || compile_outcome_ != Outcome::kNotRun) return {};
  const Stretch stretch(Part::kWorkerStart, account());
  spare_ = TRY(worker::SpawnWorker(SpecOfWorker()));
  if (candidate_.role == Role::kCandidate && HasGhost(candidate_.lane, device_.kind)) {
    ghost_ = TRY(Make(candidate_, op_, device_));
    ghost_->spare_ = TRY(worker::SpawnWorker(ghost_->SpecOfWorker()));
    if (CompilesByTriton(candidate_.lane)) recompiler()->Spawn();
  }
  return {};
}

// The one that was started ahead; where it has died since, it says nothing about the candidate.
Result<std::unique_ptr<worker::Worker>> Contestant::FreshWorker() {
  const Stretch stretch(Part::kWorkerStart);
  if (std::unique_ptr<worker::Worker> spare = std::move(spare_);
      spare != nullptr && spare->Greet(kStartTimeoutS)) {
    return spare;
  }
  return worker::StartWorker(SpecOfWorker());
}

Result<bool> Contestant::StartWorker() {
  prepared_ = false;
  mapped_.clear();
  // A context of the device is the first thing that it holds.
  const auto start = [&] -> Result<worker::Answer<std::unique_ptr<worker::Worker>>> {
    return TRY_IN(FreshWorker(), "starting a worker for " + candidate_.name);
  };
  if (!TRY(Watched(start, &worker_))) return false;
  const Json load = LoadRequest();
  // Whether the lane's compiler is here is asked as long as the candidate has no say in the answer.
  if (!IsNative(candidate_.lane)) {
    Json require = load;
    if (!TRY(Ask(require.Set("do", "require"), kInitTimeoutS))) return false;
  }
  return Ask(load, kInitTimeoutS);
}

Json Contestant::LoadRequest() const {
  const std::string source = "/candidate/" + candidate_.sources.front().string();
  return Json::MakeObject()
      .Set("do", "load")
      .Set("path", IsNative(candidate_.lane) ? provenance_.path : source)
      .Set("lane", LaneName(candidate_.lane))
      .Set("entry", candidate_.entry)
      .Set("contract", ContractOf(op_));
}

Result<bool> Contestant::Begin(const Workload& workload, device::Device& device,
                               const std::vector<const device::Arena*>& inputs,
                               double call_timeout_s) {
  const Stretch stretch(Part::kCompile, account());
  call_timeout_s_ = call_timeout_s;
  gate_ = Gate::kCompile;
  if (worker_ == nullptr) {
    memory_.Start(device);
    if (!TRY(StartWorker())) return false;
  }
  gate_ = Gate::kCorrectness;
  first_call_ = true;
  const int64_t lent = inputs.front()->layout().bytes + device::LayOut(workload.outputs).bytes;
  memory_.Allow(AllowanceFor(candidate_.role, lent * static_cast<int64_t>(inputs.size()),
                             device.info().memory_bytes));
  if (!TRY(LendArenas(workload, device, inputs))) return false;
  Json reply;
  if (!TRY(Ask(Json::MakeObject()
                   .Set("do", "init")
                   .Set("shape", AxesToJson(workload.axes))
                   .Set("construct", workload.shape.construct),
               kInitTimeoutS, &reply))) {
    return false;
  }
  const Json* bytes = reply.Find("workspace_bytes");
  if (bytes == nullptr || !bytes->is_int() || bytes->as_int() <= 0) return true;
  if (bytes->as_int() > device.info().memory_bytes / 2) {
    Refuse(gate_, Outcome::kOutOfMemory,
           fmt::format("workspace_bytes asks for {} bytes", bytes->as_int()));
    return false;
  }
  const Tensor bytes_tensor{.name = kWorkspace, .dtype = DType::kU8, .sizes = {bytes->as_int()}};
  workspace_ = TRY(device.MakeArena(device::LayOut({&bytes_tensor, 1})));
  TRY(workspace_->Poison());
  const std::array<int, 1> fds = {workspace_->fd()};
  mapped_.emplace_back(kWorkspace);
  return Ask(MapRequest(kWorkspace, *workspace_, MapAccess::kReadWrite), kMapTimeoutS, nullptr,
             fds);
}

Result<void> Contestant::End() {
  const Stretch stretch(Part::kArenas, account());
  if (worker_ != nullptr) {
    for (const std::string& name : mapped_) {
      const worker::Answer<Json> answer = TRY(worker_->Ask(UnmapRequest(name), kMapTimeoutS));
      if (!answer) {
        worker_.reset();  // its verdict stands; the next workload gets a fresh worker
        break;
      }
    }
  }
  if (std::exchange(retire_, false)) worker_.reset();
  mapped_.clear();
  outputs_.clear();
  workspace_.reset();
  return {};
}

Result<bool> Contestant::Call(size_t slot) {
  const Stretch stretch(Part::kCalls, account());
  gate_ = Gate::kCorrectness;
  const bool called = TRY(Ask(Json::MakeObject()
                                  .Set("do", "call")
                                  .Set("in", InputName(slot))
                                  .Set("out", OutputName(slot))
                                  .Set("workspace", workspace_ ? kWorkspace : ""),
                              call_timeout_s_));
  // What the first call on a workload has compiled is what the others will run.
  if (called && recompiler_ != nullptr && std::exchange(first_call_, false)) {
    recompiler_->BeginAhead(scratch());
  }
  return called;
}

Result<bool> Contestant::Prepare(Stopwatch& stopwatch) {
  if (prepared_) return true;
  // Where calls were made already, what compiles just in time has compiled.
  if (!IsNative(candidate_.lane)) {
    provenance_.generated_kernels = GeneratedKernels(scratch());
    provenance_.extensions = FindExtensions(scratch(), texts_, cuda_kernels_);
  }
  const auto prepare = [&] -> Result<worker::Answer<bool>> {
    worker::Answer<void> ready = TRY(stopwatch.Prepare(*worker_, provenance_));
    if (!ready) return worker::Answer<bool>(std::unexpected(std::move(ready.error())));
    return worker::Answer<bool>(true);
  };
  return Watched(prepare, &prepared_);
}

Result<bool> Contestant::CallDisturbed(size_t slot, Stopwatch* disturber) {
  if (disturber == nullptr) return Call(slot);
  gate_ = Gate::kCorrectness;
  if (!TRY(Prepare(*disturber))) return false;
  worker::Answer<std::unique_ptr<Disturbance>> disturbed = TRY(disturber->Disturb(*worker_));
  if (!disturbed) return Judge(std::move(disturbed.error()));
  return Call(slot);
}

Result<bool> Contestant::Fit(size_t slot, std::string_view phase, Json* reply) {
  return Ask(Json::MakeObject()
                 .Set("do", "fit")
                 .Set("phase", phase)
                 .Set("in", InputName(slot))
                 .Set("out", OutputName(slot))
                 .Set("workspace", workspace_ ? kWorkspace : ""),
             call_timeout_s_, reply);
}

OwnSource Contestant::own_source() const {
  OwnSource own{.folders = {"/candidate/", (run_folder() / "").string()}, .text = {}};
  for (const auto& [name, text] : texts_) own.text += text + "\n";
  return own;
}

int64_t Contestant::workspace_bytes() const {
  return workspace_ ? workspace_->layout().places.front().tensor.Bytes() : 0;
}

std::optional<pid_t> Contestant::worker_pid() const {
  return worker_ != nullptr && worker_->alive() ? std::optional(worker_->pid()) : std::nullopt;
}

std::vector<TimedCall> Contestant::CallsOn(const std::vector<size_t>& slots,
                                           const std::vector<device::Arena*>& inputs) {
  std::vector<TimedCall> calls;
  for (const size_t slot : slots) {
    calls.push_back({.in_name = InputName(slot),
                     .out_name = OutputName(slot),
                     .in = inputs[slot],
                     .out = outputs_[slot].get(),
                     .graph = candidate_.mode == Mode::kGraph});
  }
  return calls;
}

void Contestant::Quiet(Stopwatch& stopwatch) {
  if (worker_ != nullptr && prepared_) stopwatch.Quiet(*worker_);
}

Result<bool> Contestant::Time(Stopwatch& stopwatch, const std::vector<size_t>& slots,
                              const std::vector<device::Arena*>& inputs, BatchTimes* times) {
  const Stretch stretch(Part::kTiming, account());
  gate_ = Gate::kPerformance;
  if (!TRY(Prepare(stopwatch))) return false;
  const auto time = [&] {
    return stopwatch.Time(*worker_, CallsOn(slots, inputs), workspace_ ? kWorkspace : "",
                          call_timeout_s_ * static_cast<double>(slots.size()));
  };
  return Watched(time, times);
}

Result<bool> Contestant::Attribute(Stopwatch& stopwatch, const std::vector<size_t>& slots,
                                   const std::vector<device::Arena*>& inputs, BatchTimes* times) {
  const Stretch stretch(Part::kAttribution, account());
  gate_ = Gate::kPerformance;
  const auto attribute = [&] {
    return stopwatch.Attribute(*worker_, CallsOn(slots, inputs), workspace_ ? kWorkspace : "",
                               call_timeout_s_ * static_cast<double>(slots.size()));
  };
  return Watched(attribute, times);
}

}  // namespace roofmark::gate
