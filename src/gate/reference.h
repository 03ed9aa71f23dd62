// SPDX-License-Identifier: Apache-2.0
// The judge's handle on an operator's reference: a warm, sandboxed worker that draws inputs and
// computes expected outputs in memory that candidates never map. The operators that come with
// Roofmark share one worker, one after the other: on a GPU a fresh process takes two to three
// seconds to open the device and to load the kernels that references use. A reference that fails is
// an error of the operator or the machine (kInput, kDevice, kTimeout), never a verdict on a
// candidate.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "device/arena.h"
#include "model/workload.h"
#include "worker/worker.h"

namespace roofmark::gate {

// One of the operator's admission programs (variants.py): an honest way of computing it, or a wrong
// one that must be refused under these regimes.
struct AdmissionProgram {
  std::string name;
  bool honest = false;
  std::vector<std::string> regimes;  // of a wrong one
};

// A mapped arena to fill, and what its values are drawn from.
struct Draw {
  std::string arena;
  int64_t seed = 0;
};

class Reference {
 public:
  static Result<Reference> Start(const Operator& op, DeviceKind device);
  // Begins to start a worker for this operator and those that may share its worker. Nothing but
  // Load may come next.
  static Result<Reference> Spawn(const Operator& op, DeviceKind device);
  // Whether its worker may load this operator: the same one, or both come with Roofmark.
  bool Serves(const Operator& op) const;
  // Makes the worker ready, which opens the device, and loads the operator where another one is
  // loaded. Requires: Serves(op), and no arena is mapped.
  Result<void> Load(const Operator& op);

  Result<void> Map(const std::string& name, const device::Arena& arena);
  Result<void> Unmap(const std::string& name);
  // Fills mapped arenas with fresh values of a regime.
  Result<void> Inputs(std::span<const Draw> draws, const Workload& workload,
                      const std::string& regime);
  // Computes the outputs for what lies in `in` now.
  Result<void> Expected(const std::string& in, const std::string& out, const Workload& workload);

  // The operator's own regimes, beside those that every operator has: "masked".
  Result<std::vector<std::string>> OwnRegimes();
  // Errors: kInput where the operator has no variants.py.
  Result<std::vector<AdmissionProgram>> Programs();
  // Writes what the program makes of `in` to `out`; false where it does not apply to the shape. A
  // program that fails is a Mishap.
  Result<worker::Answer<bool>> RunProgram(const std::string& program, const std::string& in,
                                          const std::string& out, const Workload& workload);

  // Ends its process; only an assignment may follow.
  void Stop() { worker_.reset(); }

  const std::string& level() const { return worker_->level(); }

 private:
  Reference(std::filesystem::path home, TempDir scratch, std::unique_ptr<worker::Worker> worker)
      : home_(std::move(home)), scratch_(std::move(scratch)), worker_(std::move(worker)) {}
  Result<void> Ask(const Json& request, std::span<const int> fds = {});

  std::filesystem::path home_;  // what its worker sees as /candidate
  std::string name_;            // of the loaded operator; empty = none so far
  bool greeted_ = false;
  TempDir scratch_;
  std::unique_ptr<worker::Worker> worker_;
};

// The name under which every worker, reference and candidate, knows the inputs of a slot.
std::string InputName(size_t slot);

// The request that maps an arena into any worker; the arena's descriptor goes with it.
enum class MapAccess { kRead, kReadWrite };
Json MapRequest(const std::string& name, const device::Arena& arena, MapAccess access);
Json UnmapRequest(const std::string& name);

}  // namespace roofmark::gate
