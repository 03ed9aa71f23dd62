// SPDX-License-Identifier: Apache-2.0
#include "worker/native_worker.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>

#include "worker/arena_map.h"
#include "worker/bell_loop.h"
#include "worker/crash_report.h"
#include "worker/native_args.h"
#include "worker/native_library.h"
#include "worker/worker_device.h"

namespace roofmark::worker {
namespace {

// The judge decides how long anything may take; it closes the socket when it has had enough.
constexpr double kPatienceS = 7 * 86400;

class NativeWorker {
 public:
  explicit NativeWorker(std::unique_ptr<WorkerDevice> device)
      : device_(std::move(device)), arenas_(*device_) {}

  Result<Json> Serve(const Message& message) {
    const Json& request = message.json;
    const std::string verb = TRY(request.String("do"));
    const int fd = message.fds.empty() ? -1 : message.fds.front().get();
    if (verb == "hello") return Json::MakeObject().Set("versions", device_->Versions());
    if (verb == "map") return arenas_.Map(request, fd);
    if (verb == "unmap") return arenas_.Unmap(request);
    if (verb == "load") return Load(request);
    if (verb == "init") return Init(request);
    if (verb == "call") return Call(request);
    if (verb == "bell") return RingLoop(request, fd);
    if (verb == "batch") return Batch(request);
    if (verb == "fit") return Fit(request);
    return Fail(ErrorKind::kInput, "a native worker does not know '" + verb + "'");
  }

 private:
  struct Prepared {
    std::vector<NativeArgs> args;
    void* workspace = nullptr;
  };

  Result<Json> Load(const Json& request) {
    contract_ = TRY(ContractFromJson(*TRY(request.ObjectAt("contract"))));
    library_ = TRY(NativeLibrary::Open(TRY(request.String("path")), TRY(request.String("entry"))));
    return Json::MakeObject();
  }

  Result<Json> Init(const Json& request) {
    if (!library_) return Fail(ErrorKind::kInput, "nothing is loaded");
    scalars_ = TRY(ScalarsOf(contract_, *TRY(request.ObjectAt("shape"))));
    NativeArgs args =
        TRY(NativeArgs::MakeShapeOnly(contract_, scalars_, arenas_, device_->device_type()));
    TRY(library_->Init(args.data()));
    const int64_t bytes = TRY(library_->WorkspaceBytes(args.data()));
    TRY(device_->Synchronise());
    return Json::MakeObject().Set("workspace_bytes", bytes);
  }

  Result<NativeArgs> ArgsOf(const Json& call) {
    const MappedArena* const in = TRY(arenas_.At(TRY(call.String("in"))));
    const MappedArena* const out = TRY(arenas_.At(TRY(call.String("out"))));
    return NativeArgs::Make(contract_, scalars_, *in, *out, device_->device_type());
  }

  Result<void*> WorkspaceOf(const Json& request) {
    const Json* const name = request.Find("workspace");
    if (name == nullptr || !name->is_string() || name->as_string().empty()) return nullptr;
    const MappedArena* const arena = TRY(arenas_.At(name->as_string()));
    if (arena->tensors.empty()) return Fail(ErrorKind::kInput, "the workspace arena is empty");
    return arena->base + arena->tensors.front().offset;
  }

  Result<Json> Call(const Json& request) {
    if (!library_) return Fail(ErrorKind::kInput, "nothing is loaded");
    NativeArgs args = TRY(ArgsOf(request));
    TRY(library_->Run(args.data(), TRY(WorkspaceOf(request)), device_->stream()));
    TRY(device_->Synchronise());
    return Json::MakeObject();
  }

  Result<Prepared> Prepare(const Json& request) {
    if (!library_) return Fail(ErrorKind::kInput, "nothing is loaded");
    Prepared prepared{.workspace = TRY(WorkspaceOf(request))};
    for (const Json& call : TRY(request.ArrayAt("calls"))->array()) {
      prepared.args.push_back(TRY(ArgsOf(call)));
    }
    if (prepared.args.empty()) return Fail(ErrorKind::kInput, "no calls are named");
    return prepared;
  }

  Result<Json> RingLoop(const Json& request, int fd) {
    Prepared prepared = TRY(Prepare(request));
    const int64_t calls = TRY(ServeBell(fd, [&](uint64_t number) {
      NativeArgs& args = prepared.args[number % prepared.args.size()];
      return library_->Run(args.data(), prepared.workspace, device_->stream());
    }));
    return Json::MakeObject().Set("calls", calls);
  }

  Result<Json> Fit(const Json& request) {
    if (!library_) return Fail(ErrorKind::kInput, "nothing is loaded");
    NativeArgs args = TRY(ArgsOf(request));
    void* const workspace = TRY(WorkspaceOf(request));
    return device_->Fit(request,
                        [&] { return library_->Run(args.data(), workspace, device_->stream()); });
  }

  // Only the phase that queues names calls; the others (worker/cuda_worker_device.h) name none.
  Result<Json> Batch(const Json& request) {
    const bool names_calls = !TRY(request.ArrayAt("calls"))->array().empty();
    Prepared prepared = names_calls ? TRY(Prepare(request)) : Prepared{};
    return device_->Batch(request, prepared.args.size(), [&](size_t call) {
      return library_->Run(prepared.args[call].data(), prepared.workspace, device_->stream());
    });
  }

  std::unique_ptr<WorkerDevice> device_;
  ArenaMap arenas_;
  Contract contract_;
  std::optional<NativeLibrary> library_;
  std::vector<uint64_t> scalars_;
};

// What does not fit the contract when it is loaded is the candidate's interface; the rest happened
// while it ran.
std::string_view OutcomeFor(const Error& error, const Json* verb) {
  if (error.message().find("out of memory") != std::string::npos) return "out_of_memory";
  const bool ran = verb != nullptr && *verb != Json("load") && *verb != Json("init");
  return error.kind() == ErrorKind::kInput && !ran ? "bad_interface" : "runtime_error";
}

Json ReplyOf(Result<Json> result, const Json* verb) {
  if (!result) {
    return Json::MakeObject()
        .Set("ok", false)
        .Set("outcome", OutcomeFor(result.error(), verb))
        .Set("reason", result.error().message());
  }
  return std::move(result->Set("ok", true));
}

}  // namespace

int NativeWorkerMain(Channel channel, const std::string& device) {
  ReportCrashesTo(channel.fd());
  const auto opened = [&]() -> Result<std::unique_ptr<WorkerDevice>> {
    return OpenWorkerDevice(TRY(ParseDeviceKind(device)));
  };
  Result<std::unique_ptr<WorkerDevice>> worker_device = opened();
  std::optional<NativeWorker> worker;
  if (worker_device) worker.emplace(std::move(*worker_device));
  while (true) {
    const auto message = channel.Receive(After(kPatienceS));
    if (!message) return 0;
    const Json* const verb = message->json.Find("do");
    if (verb != nullptr && *verb == Json("bye")) return 0;
    // A device that does not open is the reply to everything, hello first.
    Json reply = ReplyOf(
        worker ? worker->Serve(*message) : Result<Json>(std::unexpected(worker_device.error())),
        verb);
    if (!channel.Send(reply, {}, After(kPatienceS))) return 0;
  }
}

}  // namespace roofmark::worker
