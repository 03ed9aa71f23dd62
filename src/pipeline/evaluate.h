// SPDX-License-Identifier: Apache-2.0
// From candidates and workloads to verdicts: opens the device, keeps one warm reference per
// operator, compiles each candidate once, and walks the workloads through the gates.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "device/lease.h"
#include "gate/judge.h"
#include "gate/stopwatch.h"
#include "model/candidate.h"
#include "model/device_card.h"
#include "model/verdict.h"
#include "model/workload.h"
#include "suite/suite.h"

namespace roofmark::pipeline {

// A device with its stopwatch and, where one is known, its card.
struct Machine {
  std::unique_ptr<device::Device> device;
  std::unique_ptr<gate::Stopwatch> stopwatch;
  std::optional<DeviceCard> card;
};

// Opens the device. `card` is a name or path, or empty: then the card whose name or alias is in the
// device's own name is taken, if there is one. Errors: kDevice, kNotFound, kInput.
Result<Machine> OpenMachine(DeviceKind kind, const std::string& card);

// Judges of one GPU take turns: two at once would disturb each other's times, and each would see
// the other's memory come and go. Waits for the others; `waiting` is told whom for, when that takes
// long. Nothing on a CPU. Errors: kIo where no lock can be made.
Result<std::optional<device::Lease>> TakeTurn(
    const Machine& machine, const std::function<void(const std::string&)>& waiting);

// SOL time of a workload on this machine's card: against the datasheet where the card has one, else
// against measured ceilings; 0 without a card.
gate::Sol SolOf(const Workload& workload, const Machine& machine);

// A verdict as soon as it is known; `done` of `total` workloads are finished.
using VerdictSink = std::function<Result<void>(const Verdict&, size_t done, size_t total)>;

// Judges each candidate on each workload; the workloads may be of several operators, and each
// candidate belongs to one of them. A workload that does not fit the machine gives each candidate
// the verdict `unsupported` with the reason. Errors: the machine's, an operator's.
struct Entry {
  std::string operator_name;
  Candidate candidate;
  bool baseline = false;  // the other candidates of its operator are compared with it
};
Result<void> Evaluate(const std::vector<Workload>& workloads, const std::vector<Entry>& entries,
                      const Machine& machine, const gate::JudgeOptions& options,
                      const VerdictSink& sink);

}  // namespace roofmark::pipeline
