// SPDX-License-Identifier: Apache-2.0
// The judge's handle on an operator's reference: a warm, sandboxed worker that draws inputs and
// computes expected outputs in memory that candidates never map. A reference that fails is an error
// of the operator or the machine (kInput, kDevice, kTimeout), never a verdict on a candidate.
#pragma once

#include <memory>
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

class Reference {
 public:
  static Result<Reference> Start(const Operator& op, DeviceKind device);
  // Begins to start it; MakeReady ends that, and opens the device. Nothing else may come between.
  static Result<Reference> Spawn(const Operator& op, DeviceKind device);
  Result<void> MakeReady();

  Result<void> Map(const std::string& name, const device::Arena& arena);
  Result<void> Unmap(const std::string& name);
  // Fills the mapped arena with fresh values drawn from (seed, regime).
  Result<void> Inputs(const std::string& arena, const Workload& workload, int64_t seed,
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
  Reference(std::string name, TempDir scratch, std::unique_ptr<worker::Worker> worker)
      : name_(std::move(name)), scratch_(std::move(scratch)), worker_(std::move(worker)) {}
  Result<void> Ask(const Json& request, std::span<const int> fds = {});

  std::string name_;
  TempDir scratch_;
  std::unique_ptr<worker::Worker> worker_;
};

// The name under which every worker, reference and candidate, knows the inputs of a slot.
std::string InputName(size_t slot);

// The request that maps an arena into any worker; the arena's descriptor goes with it.
enum class MapAccess { kRead, kReadWrite };
Json MapRequest(const std::string& name, const device::Arena& arena, MapAccess access);

}  // namespace roofmark::gate
