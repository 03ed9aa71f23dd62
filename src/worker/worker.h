// SPDX-License-Identifier: Apache-2.0
// The judge's end of a worker process. A worker runs untrusted code (a candidate, or an operator's
// reference) in a sandbox and is reached through one socket: JSON messages with file descriptors,
// one reply for each request. Nothing that a worker says is believed without a check by the judge;
// when it dies, hangs or talks rubbish, that is a Mishap with its outcome, and the judge goes on.
//
// Requests ("do") and their replies; every reply is {"ok": true, ...} or
// {"ok": false, "outcome": "...", "reason": "..."}:
//   hello                            -> {"versions": {...}}; StartWorker sends it
//   map    {arena, access: "r"|"rw", bytes, tensors: [{name, dtype, sizes, offset}]} + 1 fd
//                                    -> {"address": n}
//   unmap  {arena}
//   load   {path, lane, entry, contract: {inputs, outputs, axes, attributes: [names]}}; a reference
//          is loaded with {path} alone
//   require  as load, before it          Python candidates: whether the lane's compiler is here.
//                                    Only here may a worker say unsupported
//   check  {path, lane, entry, contract, precompile: bool}    Python candidates: what their text
//                                    tells, without running it (roofmark_static.py)
//                                    -> {"text", "kernels", "installed", "compiler", "precompiled"}
//   init   {shape: {axis: value}, construct}    -> {"workspace_bytes": n}; after map, since tensor
//                                    sizes are taken from some mapped arena. `construct` (or null):
//                                    how an imported problem builds its Model, model/shape.h
//   call   {in, out, workspace}      one call, synchronised; workspace names an arena or is ""
//   bell   {calls: [{in, out}], workspace, fetched} + 1 fd    CPU timing: ring n makes
//                                    calls[(n-1) % size], see bell_page.h; with fetched the judge
//                                    takes returned outputs (bell.h), without it the worker stores
//                                    them in the window; -> {"calls": n} after kBellStop
//   batch  {calls: [{in, out}], workspace, flush_bytes, hold_ns, skip}    CUDA timing
//                                    -> {"event_ns": [..], "host_ns": n, "meter": {...}}
//            with graph: true the calls are replays of graphs, captured once for each pair
//   fit    {phase, in, out, workspace}    CUDA: worker/worker_device.h
//   inputs   {arena, shape, seed, regime}    reference worker: fill an input arena
//   expected {in, out, shape}                reference worker: compute an output arena
//   programs {}                              reference worker: the operator's admission programs
//                                    -> {"programs": [{name, honest, regimes}]}
//   program  {name, in, out, shape}          and what one of them computes -> {"applies": bool}
//   survey   {format}                        importer: what lies in /candidate
//   describe {item, about}                   importer: an item of it as card, shapes and files
//   submit {key, stage: "ttir"|"ttgir", code, options, layouts: hexadecimal}    recompiler: compile
//          this intermediate code, with the options in the .json beside it; layouts is the .ttgir
//   collect {key, wait_s}                    -> {"done": {cubin: hexadecimal, failure, seconds}},
//   or
//                                    null where that is not done yet
//   bye
#pragma once

#include <sys/types.h>

#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"
#include "model/verdict.h"

namespace roofmark::worker {

enum class WorkerKind { kReference, kNative, kPython, kImporter, kRecompiler };

struct WorkerSpec {
  WorkerKind kind = WorkerKind::kNative;
  DeviceKind device = DeviceKind::kCpu;
  // Mounted read-only at /candidate (or, for a reference, the operator's folder).
  std::filesystem::path folder;
  // For Python on a GPU mounted writable at /scratch, and emptied by its owner: the judge reads
  // what compilers leave there. Others have a scratch folder in memory that ends with them. Either
  // may hold a quarter of memory_bytes.
  std::filesystem::path scratch;
  uint64_t memory_bytes = uint64_t{8} << 30;  // address-space or cgroup limit
  double start_timeout_s = 120;
  // "NAME=value", on top of the few that every worker gets (PATH, HOME, TMPDIR, cache folders).
  std::vector<std::string> environment;
  // Further files or folders, shown read-only where they are.
  std::vector<std::filesystem::path> shown;
};

// A worker that failed, as a verdict on what it ran.
struct Mishap {
  Outcome outcome = Outcome::kCrashed;
  std::string reason;
};
template <typename T>
using Answer = std::expected<T, Mishap>;

class Worker {
 public:
  virtual ~Worker() = default;
  // Sends one request with its descriptors. A dead worker is reported by Receive.
  virtual Result<void> Send(const Json& request, std::span<const int> fds = {}) = 0;
  // Waits for the reply. On timeout the worker and all its descendants are killed (kTimedOut); on
  // death the signal decides (kCrashed, kOutOfMemory), and where the worker's last words name an
  // address, that does: kInputMutated in a read-only arena, kOutOfBounds just outside of one.
  // {"ok": false} gives its outcome if that is one a worker may state (runtime_error,
  // bad_interface, wrong_structure, out_of_memory; where it has loaded nothing, "require" may say
  // unsupported), else kRuntimeError. Rubbish on the socket is kRuntimeError, and kills. Errors
  // (not Mishaps) are faults of the machine.
  virtual Result<Answer<Json>> Receive(double timeout_s) = 0;
  virtual bool alive() const = 0;
  virtual pid_t pid() const = 0;
  // The file that it was told to load, as it sees it itself; empty before that.
  virtual std::string loaded() const { return {}; }
  // Where it says that it has mapped an arena; nothing where it has none of this name.
  virtual std::optional<int64_t> AddressOf(std::string_view /*arena*/) const {
    return std::nullopt;
  }
  // The end of what it wrote to stdout and stderr, for people.
  virtual std::string Log() = 0;
  // What the sandbox enforces here, e.g. "user, mount, pid, net, ipc and uts namespaces, seccomp".
  virtual const std::string& level() const = 0;
  // What the hello reply said about versions: {"torch": "...", ...}; empty for native CPU workers.
  virtual const Json& versions() const = 0;

  // Says hello to a worker that was only spawned; it opens its device now. Errors: kDevice.
  virtual Result<void> Greet(double /*timeout_s*/) { return {}; }

  Result<Answer<Json>> Ask(const Json& request, double timeout_s, std::span<const int> fds = {});
};

// Starts a worker in its sandbox and says hello. Errors: kDevice or kIo when the machine cannot.
Result<std::unique_ptr<Worker>> StartWorker(const WorkerSpec& spec);
// Starts it without hello: an interpreter imports PyTorch meanwhile, and nothing opens the device
// or loads a candidate. Greet must come before any other request.
Result<std::unique_ptr<Worker>> SpawnWorker(const WorkerSpec& spec);

// Runs a compiler in the same sandbox: `folder` read-only at /candidate, `scratch` at /scratch,
// the generated headers at /include. The answer's reason holds the compiler's last lines.
struct SandboxedCommand {
  std::vector<std::string> argv;
  std::filesystem::path folder;
  std::filesystem::path include;
  std::filesystem::path scratch;
  std::vector<std::filesystem::path> shown;  // further folders, read-only where they are
  double timeout_s = 120;
  uint64_t memory_bytes = uint64_t{8} << 30;
};
Result<Answer<std::string>> RunSandboxed(const SandboxedCommand& command);

}  // namespace roofmark::worker
