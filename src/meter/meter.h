// SPDX-License-Identifier: Apache-2.0
// The meter counts device time inside a worker, in any language. The CUDA driver loads this library
// when the worker initialises CUDA (CUDA_INJECTION64_PATH) and calls InitializeInjection. From then
// on every module that the process loads is recorded: the hash of its cubin, its kernels, and, from
// the call stack, the shared object that loaded it. Between Start and Drain each kernel, copy and
// memset is recorded with its time on the device.
//
// The meter shares the candidate's process, so what it says is testimony: the judge compares it
// with its own clock and with the hashes of its own compilation.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "meter/cupti_api.h"

namespace roofmark::meter {

// A cubin that was loaded into this process.
struct ModuleRecord {
  std::string sha256;                // CubinHash
  std::string loader;                // path of the shared object that asked for it
  std::vector<std::string> callers;  // that object and those that called it, nearest first
  uint64_t bytes = 0;
  bool brought = false;     // its loader is a file of the candidate's (ProgramMayWrite)
  bool unreadable = false;  // it may hold kernels of names that are not known (ReadCubinNames)
};

enum class OperationKind { kKernel, kMemcpy, kMemset };

struct OperationRecord {
  OperationKind kind = OperationKind::kKernel;
  uint32_t name = 0;  // index into names
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
  uint32_t stream = 0;
  uint32_t correlation = 0;  // grows with the launches of the process; 0 for copies and fills
  uint64_t bytes = 0;        // of a copy within the device; 0 for anything else
};

struct Testimony {
  std::string fault;  // why nothing was metered; empty when it was
  std::vector<ModuleRecord> modules;
  std::vector<std::string> names;
  std::vector<std::vector<uint32_t>> name_modules;  // modules that hold a kernel of that name
  std::vector<OperationRecord> operations;
  uint64_t dropped = 0;       // records that CUPTI lost
  uint64_t outside = 0;       // operations between the last Drain or Discard and Start
  std::string outside_name;   // the first of them
  uint64_t conditionals = 0;  // handles of conditional nodes that this process ever made
  uint64_t module_count = 0;  // all modules loaded, also those that ran nothing
};

// {"fault", "dropped", "outside", "outside_name", "conditionals", "module_count", "modules":
// [{sha256, loader, callers, bytes}],
//  "names": [{"name", "modules": [index]}],
//  "operations": [[kind, name, start_ns, end_ns, stream, correlation, bytes]]}
// with kind 0 kernel, 1 memcpy, 2 memset. Modules that ran nothing are listed only where there are
// few modules in all (64), or where they were brought or are unreadable, which a further key of
// theirs says then.
std::string TestimonyToJson(const Testimony& testimony);

// Which functions of CUDA's driver and runtime were called while somebody watched.
struct Watched {
  std::string fault;                      // why nothing could be watched; empty when it could
  std::map<std::string, uint64_t> calls;  // by function, e.g. "cuMemAlloc_v2"
  // From where kernels and graphs were launched: the distinct stacks, by CallingFunctions.
  std::vector<std::vector<std::string>> stacks;
};

// {"fault", "calls": {function: count}, "stacks": [["file:symbol"]]}.
std::string WatchedToJson(const Watched& watched);

class Meter {
 public:
  // One a process: CUPTI's buffer callbacks carry no user data.
  static Meter& Instance();

  // Subscribes to module loads. Safe to call again.
  void Attach();
  // Recording begins with the first Start and never stops: work between batches, by a thread or on
  // another stream, would be work that no clock sees.
  void Start();
  Testimony Drain();
  // Forgets what was recorded so far: an untimed call that the judge asked for is over.
  void Discard();

  // Between the two every call of any thread into the driver or the runtime is counted. Watching
  // slows calls down; nothing is timed meanwhile.
  void StartWatching();
  Watched StopWatching();

 private:
  Meter() = default;
  static void OnCallback(void* user, int domain, uint32_t id, const void* data);
  void AddCall(int domain, uint32_t id, const cupti::ApiData& call);
  void WatchDomains(bool on);
  void WatchConditionals();
  static void OnBufferRequested(uint8_t** buffer, size_t* size, size_t* max_records);
  static void OnBufferCompleted(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                size_t valid);
  void AddModule(std::string_view cubin);
  void AddRecords(void* context, uint32_t stream, uint8_t* buffer, size_t valid);
  void AddRecord(const void* record);
  uint32_t NameIndex(const char* name);
  void Fault(const char* what, cupti::Status status);
  void Flush();

  std::mutex mutex_;
  CuptiApi api_;
  bool attached_ = false;
  bool recording_ = false;
  std::string fault_;
  cupti::Subscriber subscriber_ = nullptr;
  std::vector<ModuleRecord> modules_;
  std::unordered_map<std::string, std::vector<uint32_t>> modules_by_kernel_;
  std::unordered_map<std::string, uint32_t> name_index_;
  std::vector<std::string> names_;
  std::vector<OperationRecord> operations_;
  uint64_t dropped_ = 0;
  uint64_t outside_ = 0;
  std::string outside_name_;
  uint64_t conditionals_ = 0;
  std::map<std::string, uint64_t> calls_;
  std::vector<std::vector<std::string>> stacks_;
};

}  // namespace roofmark::meter
