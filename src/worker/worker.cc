// SPDX-License-Identifier: Apache-2.0
#include "worker/worker.h"

#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/files.h"
#include "base/text.h"
#include "worker/arena_book.h"
#include "worker/cuda_files.h"
#include "worker/file_tree.h"
#include "worker/folder_watch.h"
#include "worker/process_memory.h"
#include "worker/python_files.h"
#include "worker/sandbox.h"

namespace roofmark::worker {
namespace {

constexpr double kSendTimeoutS = 60;
// How often a waiting judge looks whether the worker's memory stays in its limit.
constexpr double kLookS = 0.05;
// And, since that is a long text, through its memory map.
constexpr double kMapsLookS = 1;
// Dying takes a moment after the last words.
constexpr double kDeathTimeoutS = 5;
constexpr uint64_t kFileBytes = uint64_t{16} << 30;
// Of the library that a compiler makes, and of what it writes on the way. Theirs are megabytes.
constexpr uint64_t kCompiledBytes = uint64_t{1} << 30;
constexpr uint64_t kProcesses = 2048;
// PyTorch with cuBLAS and Triton holds 3 to 6 GiB on a GPU machine before it does anything.
constexpr uint64_t kLeastCudaBytes = uint64_t{32} << 30;

std::unexpected<Mishap> Bad(Outcome outcome, std::string reason) {
  return std::unexpected(Mishap{.outcome = outcome, .reason = std::move(reason)});
}

Answer<Json> BadReply(Outcome outcome, std::string reason) {
  return Bad(outcome, std::move(reason));
}

std::string SignalName(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// The request to which a worker may answer that this machine lacks what its lane needs.
constexpr std::string_view kRequire = "require";

// What a worker may say about itself. Anything else that it claims is a runtime error. Loading
// compiles a Python source. A candidate that is unsupported is left out of every rate, so that this
// counts only where no code but the judge's has run: in the answer to kRequire of a process that
// has loaded nothing.
Outcome StatedOutcome(const Json& reply, std::string_view verb, bool untouched) {
  const Json* const name = reply.Find("outcome");
  if (name == nullptr || !name->is_string()) return Outcome::kRuntimeError;
  const Result<Outcome> outcome = ParseOutcome(name->as_string());
  if (!outcome) return Outcome::kRuntimeError;
  constexpr std::array kAllowed = {Outcome::kRuntimeError, Outcome::kBadInterface,
                                   Outcome::kWrongStructure, Outcome::kOutOfMemory};
  const bool compiles = verb == "load" || verb == "check";
  if (*outcome == Outcome::kCompileError && (compiles || verb == kRequire)) return *outcome;
  if (*outcome == Outcome::kUnsupported && untouched && verb == kRequire) return *outcome;
  return std::ranges::find(kAllowed, *outcome) != kAllowed.end() ? *outcome
                                                                 : Outcome::kRuntimeError;
}

int64_t IntOr(const Json& json, std::string_view key, int64_t fallback) {
  const Json* const value = json.Find(key);
  return value != nullptr && value->is_int() ? value->as_int() : fallback;
}

class SandboxedWorker final : public Worker {
 public:
  SandboxedWorker(std::unique_ptr<Sandbox> sandbox, uint64_t memory_bytes, FolderWatch scratch)
      : sandbox_(std::move(sandbox)),
        memory_bytes_(memory_bytes),
        scratch_(std::move(scratch)),
        kills_before_(OutOfMemoryKills()) {}

  Result<void> Send(const Json& request, std::span<const int> fds) override {
    request_ = request;
    untouched_ = untouched_ && (Verb() == "hello" || Verb() == kRequire);
    // What already waits is no reply to this; Receive finds out what it is.
    spoke_first_ = sandbox_->channel().HasUnread();
    if (spoke_first_) return {};
    Json sent = request;
    if (const Json* const path = request.Find("path"); path != nullptr && path->is_string()) {
      const std::string inside = sandbox_->InsidePath(path->as_string());
      if (Verb() == "load") loaded_ = inside;
      sent.Set("path", inside);
    }
    (void)sandbox_->channel().Send(sent, fds, After(kSendTimeoutS));
    return {};
  }

  Result<Answer<Json>> Receive(double timeout_s) override {
    const Deadline deadline = After(timeout_s);
    while (true) {
      auto message = sandbox_->channel().Receive(std::min(deadline, After(kLookS)));
      if (message && scratch_.IsOver()) return OverScratch();
      if (message) return Take(std::move(message->json));
      switch (message.error().fault) {
        case ChannelFault::kClosed:
          return Death(Json::MakeObject());
        case ChannelFault::kRubbish:
          sandbox_->Kill();
          return BadReply(Outcome::kRuntimeError,
                          "wrote to the judge's socket: " + message.error().detail);
        case ChannelFault::kTimeout:
          break;
      }
      if (sandbox_->Exited()) return Death(Json::MakeObject());
      if (scratch_.IsOver()) return OverScratch();
      if (IsOverMemory()) {
        sandbox_->Kill();
        return BadReply(
            Outcome::kOutOfMemory,
            fmt::format("holds more than {}", HumanBytes(static_cast<double>(memory_bytes_))));
      }
      if (std::chrono::steady_clock::now() >= deadline) {
        sandbox_->Kill();
        return BadReply(Outcome::kTimedOut,
                        fmt::format("'{}' was not done after {:g} s", Verb(), timeout_s));
      }
    }
  }

  bool alive() const override { return !sandbox_->Exited(); }
  pid_t pid() const override { return sandbox_->pid(); }
  std::string loaded() const override { return loaded_; }
  std::optional<int64_t> AddressOf(std::string_view arena) const override {
    return book_.AddressOf(arena);
  }
  std::string Log() override { return sandbox_->Log(); }
  const std::string& level() const override { return sandbox_->level(); }
  const Json& versions() const override { return versions_; }

  Result<void> Greet(double timeout_s) override {
    const Answer<Json> hello = TRY(Ask(Json::MakeObject().Set("do", "hello"), timeout_s));
    if (!hello) {
      return Fail(ErrorKind::kDevice,
                  fmt::format("a worker does not start: {}\n{}", hello.error().reason, Log()));
    }
    if (const Json* versions = hello->Find("versions");
        versions != nullptr && versions->is_object()) {
      versions_ = *versions;
    }
    return {};
  }

 private:
  std::string Verb() const {
    const Json* const verb = request_.Find("do");
    return verb != nullptr && verb->is_string() ? verb->as_string() : "";
  }

  bool IsOverMemory() {
    const auto limit = static_cast<int64_t>(memory_bytes_);
    if (ResidentBytes(sandbox_->pid()) - book_.total_bytes() > limit) return true;
    if (std::chrono::steady_clock::now() < next_maps_) return false;
    next_maps_ = After(kMapsLookS);
    return SharedBytes(sandbox_->pid()) > limit;
  }

  Answer<Json> OverScratch() {
    sandbox_->Kill();
    return BadReply(Outcome::kOutOfMemory,
                    fmt::format("wrote more than {} to its scratch folder",
                                HumanBytes(static_cast<double>(scratch_.limit_bytes()))));
  }

  Answer<Json> Take(Json reply) {
    const Json* const last_words = reply.Find("last_words");
    if (last_words != nullptr) return Death(reply);
    if (spoke_first_) {
      sandbox_->Kill();
      return Bad(Outcome::kRuntimeError, "wrote to the judge's socket before it was asked");
    }
    const Json* const ok = reply.Find("ok");
    if (ok == nullptr || !ok->is_bool()) {
      sandbox_->Kill();
      return Bad(Outcome::kRuntimeError, "wrote to the judge's socket: a reply without \"ok\"");
    }
    if (!ok->as_bool()) {
      const Json* const reason = reply.Find("reason");
      return Bad(StatedOutcome(reply, Verb(), untouched_), reason != nullptr && reason->is_string()
                                                               ? reason->as_string()
                                                               : "no reason given");
    }
    book_.Note(request_, reply);
    return reply;
  }

  // The process is gone or going; `words` are its last ones, or an empty object.
  Answer<Json> Death(const Json& words) {
    if (!sandbox_->WaitForExit(After(kDeathTimeoutS))) sandbox_->Kill();
    const int code = sandbox_->Exited().value_or(128 + SIGKILL);
    const int64_t data_bytes = IntOr(words, "data_kib", 0) * 1024;
    if (data_bytes > static_cast<int64_t>(memory_bytes_) / 10 * 9) {
      return Bad(Outcome::kOutOfMemory,
                 fmt::format("crashed in '{}' with {} of {} in use", Verb(),
                             HumanBytes(static_cast<double>(data_bytes)),
                             HumanBytes(static_cast<double>(memory_bytes_))));
    }
    if (code <= 128) {
      return Bad(Outcome::kCrashed, fmt::format("left by exit({}) in '{}'", code, Verb()));
    }
    const int signal = code - 128;
    if (signal == SIGKILL && OutOfMemoryKills() > kills_before_) {
      return Bad(Outcome::kOutOfMemory, "was killed by the kernel because memory was out");
    }
    const int64_t address = IntOr(words, "address", 0);
    const bool touched = signal == SIGSEGV || signal == SIGBUS;
    if (const auto meaning = touched ? book_.Explain(address) : std::nullopt) {
      return Bad(meaning->outcome, fmt::format("{}: {}", SignalName(signal), meaning->text));
    }
    std::string reason = fmt::format("died of {} in '{}'", SignalName(signal), Verb());
    if (touched && words.Find("address") != nullptr) {
      reason += fmt::format(" at address {:#x}", static_cast<uint64_t>(address));
    }
    return Bad(Outcome::kCrashed, reason);
  }

  std::unique_ptr<Sandbox> sandbox_;
  uint64_t memory_bytes_;
  FolderWatch scratch_;
  Deadline next_maps_;
  int64_t kills_before_;
  ArenaBook book_;
  Json request_ = Json::MakeObject();
  Json versions_ = Json::MakeObject();
  bool spoke_first_ = false;
  std::string loaded_;
  bool untouched_ = true;  // it was asked for nothing yet that runs code of others
};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
// Sanitizers reserve terabytes of shadow, which a data limit counts.
constexpr bool kThisBinaryIsSanitized = true;
#else
constexpr bool kThisBinaryIsSanitized = false;
#endif

bool TakesDataLimit(const WorkerSpec& spec) {
  if (spec.device == DeviceKind::kCuda) return false;  // CUDA reserves as much
  return spec.kind != WorkerKind::kNative || !kThisBinaryIsSanitized;
}

PythonAudience AudienceOf(WorkerKind kind) {
  if (kind == WorkerKind::kImporter) return PythonAudience::kImporter;
  return kind == WorkerKind::kReference ? PythonAudience::kReference : PythonAudience::kCandidate;
}

std::string_view PythonRole(WorkerKind kind) {
  if (kind == WorkerKind::kImporter) return "importer";
  if (kind == WorkerKind::kRecompiler) return kRecompilerRole;
  return kind == WorkerKind::kReference ? "reference" : "candidate";
}

}  // namespace

Result<Answer<Json>> Worker::Ask(const Json& request, double timeout_s, std::span<const int> fds) {
  TRY(Send(request, fds));
  return Receive(timeout_s);
}

Result<std::unique_ptr<Worker>> StartWorker(const WorkerSpec& spec) {
  std::unique_ptr<Worker> worker = TRY(SpawnWorker(spec));
  TRY(worker->Greet(spec.start_timeout_s));
  return worker;
}

Result<std::unique_ptr<Worker>> SpawnWorker(const WorkerSpec& spec) {
  const uint64_t memory_bytes = spec.device == DeviceKind::kCuda
                                    ? std::max(spec.memory_bytes, kLeastCudaBytes)
                                    : spec.memory_bytes;
  const bool is_native = spec.kind == WorkerKind::kNative;
  const std::string python = is_native ? "" : PythonPath();
  const bool is_read = !is_native && spec.device == DeviceKind::kCuda;
  const uint64_t scratch_bytes = memory_bytes / 4;
  SandboxSpec sandbox{
      .tree = TRY(PlanTree({.folder = spec.folder,
                            .scratch = is_read ? spec.scratch : fs::path(),
                            .scratch_bytes = scratch_bytes,
                            .python = python,
                            .device = spec.device,
                            .libraries = is_native ? Libraries::kHidden : Libraries::kShown,
                            .shown = spec.shown,
                            .temporary_bytes = memory_bytes / 8})),
      .environment = BaseEnvironment(),
      .device = std::string(DeviceKindName(spec.device)),
      .data_bytes = TakesDataLimit(spec) ? memory_bytes : 0,
      .file_bytes = kFileBytes,
      .processes = kProcesses};
  if (spec.device == DeviceKind::kCuda) {
    TRY(AddCudaFiles(&sandbox.tree, &sandbox.environment));
  }
  std::ranges::copy(spec.environment, std::back_inserter(sandbox.environment));
  if (!is_native) {
    AddPythonFiles(AudienceOf(spec.kind), &sandbox.tree);
    sandbox.argv = PythonCommand(python, PythonRole(spec.kind), sandbox.device);
  }
  std::unique_ptr<Sandbox> started = TRY(Sandbox::Start(std::move(sandbox)));
  const std::string outside = started->InsidePath("/scratch");  // where it is on disk, if it is
  FolderWatch scratch(outside == "/scratch" ? spec.scratch : fs::path(outside), scratch_bytes);
  return std::make_unique<SandboxedWorker>(std::move(started), memory_bytes, std::move(scratch));
}

Result<Answer<std::string>> RunSandboxed(const SandboxedCommand& command) {
  SandboxSpec spec{.tree = TRY(PlanTree({.folder = command.folder,
                                         .include = command.include,
                                         .scratch = command.scratch,
                                         .shown = command.shown,
                                         .temporary_bytes = command.memory_bytes / 2})),
                   .argv = command.argv,
                   .environment = BaseEnvironment(),
                   .data_bytes = command.memory_bytes,
                   .file_bytes = kCompiledBytes,
                   .processes = kProcesses};
  const std::unique_ptr<Sandbox> sandbox = TRY(Sandbox::Start(std::move(spec)));
  const std::optional<int> code = sandbox->WaitForExit(After(command.timeout_s));
  sandbox->Kill();
  std::string log = sandbox->Log();
  const auto bad = [](Outcome outcome, std::string reason) -> Answer<std::string> {
    return Bad(outcome, std::move(reason));
  };
  if (!code) {
    return bad(Outcome::kTimedOut,
               fmt::format("not done after {:g} s\n{}", command.timeout_s, log));
  }
  if (*code == 0) return log;
  const std::string how = *code > 128 ? fmt::format("died of {}", SignalName(*code - 128))
                                      : fmt::format("exit code {}", *code);
  return bad(Outcome::kCompileError, fmt::format("{}: {}\n{}", command.argv[0], how, log));
}

}  // namespace roofmark::worker
