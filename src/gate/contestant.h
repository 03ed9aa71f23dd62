// SPDX-License-Identifier: Apache-2.0
// A candidate under judgement: its compiled form, its worker, its output arenas and the verdict
// that is being written on the current workload. Several contestants can be judged side by side on
// the same inputs, which shares the reference's work and interleaves their timings; each has a
// process, outputs and a scratch folder of its own and sees nothing of the others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "device/device.h"
#include "gate/kernel_source.h"
#include "gate/memory_watch.h"
#include "gate/reference.h"
#include "gate/stopwatch.h"
#include "model/candidate.h"
#include "model/verdict.h"
#include "model/workload.h"
#include "worker/worker.h"

namespace roofmark::gate {

class Recompiler;

class Contestant {
 public:
  static Result<std::unique_ptr<Contestant>> Make(Candidate candidate, const Operator& op,
                                                  const device::DeviceInfo& device);

  // The compile gate: builds native lanes in the sandbox and keeps hashes of their cubins. A
  // refusal is kept and becomes the verdict on each workload. Errors are the machine's (no
  // compiler).
  Result<void> Compile();

  // Begins to start the worker where that takes long (a Python lane), and that of its ghost where
  // there will be one, without opening the device; the next Begin takes it. Requires: Compile was
  // called.
  Result<void> Prestart();

  // Starts a new verdict. False when the compile gate already decided it.
  bool StartVerdict(const Workload& workload);
  // Makes sure that a worker lives and has the candidate loaded, lends it the inputs read-only and
  // `slots` output arenas, and calls init. False when the candidate failed on the way.
  // `call_timeout_s` limits each later call.
  Result<bool> Begin(const Workload& workload, device::Device& device,
                     const std::vector<const device::Arena*>& inputs, double call_timeout_s);
  // Takes the arenas back; the worker stays for the next workload if it lives.
  Result<void> End();
  // Ends the worker, so that the next workload starts in a fresh one. Requires: End was called.
  void Restart() { worker_.reset(); }
  // The same at the next End.
  void RetireWorker() { retire_ = true; }

  // Keeps its worker from running until it is timed (Stopwatch::Quiet): call before Refill.
  void Quiet(Stopwatch& stopwatch);
  // Lets it run after all (Stopwatch::Wake).
  void Wake(Stopwatch& stopwatch) {
    if (worker_ != nullptr) stopwatch.Wake(*worker_);
  }
  // One synchronised, untimed call on a slot. False when the candidate failed.
  Result<bool> Call(size_t slot);
  // Such a call while `disturber` disturbs the machine (Stopwatch::Disturb); null = undisturbed.
  Result<bool> CallDisturbed(size_t slot, Stopwatch* disturber);
  // Times one call per slot in the given order. False when the candidate failed.
  Result<bool> Time(Stopwatch& stopwatch, const std::vector<size_t>& slots,
                    const std::vector<device::Arena*>& inputs, BatchTimes* times);
  // Says who runs during these calls (Stopwatch::Attribute). False when the candidate failed.
  Result<bool> Attribute(Stopwatch& stopwatch, const std::vector<size_t>& slots,
                         const std::vector<device::Arena*>& inputs, BatchTimes* times);

  // The functions that one more call on a slot asks for, by the worker's testimony: those of vendor
  // libraries and the framework from which it launches (on a GPU), then those of PyTorch (in
  // Python). Empty where the call fails: that is no fault of the calls that were judged.
  Result<std::vector<std::string>> NameCalls(size_t slot);
  // Asks the worker about its fitness for serving (worker/worker_device.h). False when the
  // candidate failed.
  Result<bool> Fit(size_t slot, std::string_view phase, Json* reply);
  int64_t workspace_bytes() const;          // as stated for this workload; 0 = none
  std::optional<pid_t> worker_pid() const;  // nothing when no worker lives

  // Ends the verdict with an outcome.
  void Refuse(Gate gate, Outcome outcome, std::string reason);
  bool decided() const { return verdict.outcome != Outcome::kNotRun; }

  device::Arena& output(size_t slot) { return *outputs_[slot]; }
  // Gives each slot another output arena, at a place of the device's memory that chance chooses:
  // how fast a kernel writes depends on where. What was in the arenas is gone. Stays where it is
  // where memory is short. False when the candidate failed.
  Result<bool> MoveOutputs(device::Device& device);
  // False when bytes around its workspace were overwritten; true where it has none.
  Result<bool> WorkspaceIntact() {
    return workspace_ == nullptr ? Result<bool>(true) : workspace_->GuardsIntact();
  }
  const Candidate& candidate() const { return candidate_; }
  // Under which its time is kept (ledger.h): operator and candidate.
  std::string account() const { return op_.name + "/" + candidate_.name; }
  // What a worker needs to load it, and the folder that it sees as /candidate.
  Json LoadRequest() const;
  // What its kernels in Python were written in (kernel_source.h). Requires: Compile was called.
  OwnSource own_source() const;
  std::filesystem::path run_folder() const { return stage_.path() / "run"; }

  // The same candidate, whose kernels do nothing (ghost.h); null, with the reason, where that
  // cannot be made.
  Result<std::unique_ptr<Contestant>> MakeGhost(std::string* why_not);
  std::filesystem::path scratch() const { return stage_.path() / "scratch"; }
  // Who compiles its code again (recompile.h), which may outlive it; made at the first use.
  const std::shared_ptr<Recompiler>& recompiler();

  Verdict verdict;
  bool vouched = false;  // a ghost replay has found nothing against it
  // Code objects of this verdict that its compiler has yet to make again (recompile.h).
  std::vector<std::string> code;

 private:
  static constexpr const char* kWorkspace = "workspace";
  // For mapping and unmapping, which run no code of the candidate.
  static constexpr double kMapTimeoutS = 30;
  static std::string OutputName(size_t slot);
  Contestant(Candidate candidate, const Operator& op, const device::DeviceInfo& device,
             TempDir stage)
      : candidate_(std::move(candidate)), op_(op), device_(device), stage_(std::move(stage)) {}

  Result<void> CopySources();
  Result<void> CompileNative();
  Result<void> CheckOnly();
  Result<void> KeepProduct(const std::filesystem::path& library,
                           const std::filesystem::path& device_code);
  worker::WorkerSpec SpecOfWorker() const;
  Result<std::unique_ptr<worker::Worker>> FreshWorker();
  Result<bool> StartWorker();
  // Once per worker, before the stopwatch's first use of it. False when the candidate failed.
  Result<bool> Prepare(Stopwatch& stopwatch);
  Result<bool> LendArenas(const Workload& workload, device::Device& device,
                          const std::vector<const device::Arena*>& inputs);
  // Lets the worker do something while its memory is watched. A mishap becomes the verdict at the
  // current gate, and false comes back; as it does where the worker holds too much afterwards.
  template <typename T, typename Act>
  Result<bool> Watched(Act act, T* result);
  // Asks the worker, watched.
  Result<bool> Ask(const Json& request, double timeout_s, Json* reply = nullptr,
                   std::span<const int> fds = {});
  Result<Json> AskAside(size_t slot, std::string_view verb, std::string_view phase);
  // Lends it an arena for outputs of this slot.
  Result<bool> LendOutput(size_t slot, std::unique_ptr<device::Arena> arena);
  Result<bool> Judge(worker::Mishap mishap);
  // Whether its process holds no more of the device's memory than it may; if not, it is refused.
  Result<bool> HoldsLittle();
  std::vector<TimedCall> CallsOn(const std::vector<size_t>& slots,
                                 const std::vector<device::Arena*>& inputs);

  Candidate candidate_;
  const Operator& op_;
  device::DeviceInfo device_;
  TempDir stage_;  // src/ as given, include/, build/ and scratch/ writable, run/ read-only
  Provenance provenance_;
  std::map<std::string, std::string> texts_;  // of Python lanes: the sources by their file's name
  std::vector<std::string> cuda_kernels_;     // that they define in clear text (clear_text.h)
  std::vector<std::string> own_cubins_;       // of provenance_.own_code
  Gate gate_ = Gate::kCompile;
  Outcome compile_outcome_ = Outcome::kNotRun;
  std::string compile_reason_;
  std::unique_ptr<worker::Worker> worker_;
  std::unique_ptr<worker::Worker> spare_;  // spawned, not greeted
  std::unique_ptr<Contestant> ghost_;  // with a spare worker, and kernels that are not yet there
  std::shared_ptr<Recompiler> recompiler_;
  bool first_call_ = false;  // on this workload
  bool prepared_ = false;
  MemoryWatch memory_;
  bool retire_ = false;
  double call_timeout_s_ = 0;
  std::vector<std::unique_ptr<device::Arena>> outputs_;
  std::unique_ptr<device::Arena> workspace_;
  std::vector<std::string> mapped_;
};

// The contract that a worker needs to call a candidate: names in the order of the argument struct,
// `arguments`, the card's inputs with those that are updated in place, in the card's order, and
// `lists`, the axes that are lists, which Python alone is given.
Json ContractOf(const Operator& op);

}  // namespace roofmark::gate
