// SPDX-License-Identifier: Apache-2.0
// What can be done before the device is free: candidates are compiled side by side on the CPU
// cores, and the interpreters of Python workers start and import PyTorch. Nothing here touches the
// device: workers that were only spawned open it when they are greeted. Each candidate still gets a
// sandbox and processes of its own; only their start lies earlier.
#pragma once

#include <future>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/device.h"
#include "gate/contestant.h"
#include "gate/reference.h"
#include "model/operator.h"
#include "pipeline/evaluate.h"
#include "pipeline/held_verdicts.h"

namespace roofmark::pipeline {

// What each candidate declared, or one mode for all. Errors: kUsage where the device has no such
// mode, or where a candidate and the baseline would be timed in different ones.
Result<void> AgreeOnMode(std::optional<Mode> mode, DeviceKind device, std::vector<Entry>* entries);

// The candidates of one operator that are judged side by side.
struct Field {
  std::vector<std::unique_ptr<gate::Contestant>> owned;
  std::vector<gate::Contestant*> all;
  std::optional<size_t> baseline;  // in all
};

// A field that is being made by other threads. The operator must outlive it; what it began ends
// before it goes.
class Preparation {
 public:
  static Preparation Begin(const Operator& op, const std::vector<Entry>& entries,
                           const device::DeviceInfo& device);
  // Waits for it. Errors: the machine's (no compiler), naming the candidate.
  Result<Field> Take();

 private:
  using Made = Result<std::unique_ptr<gate::Contestant>>;
  std::vector<std::future<Made>> made_;
  std::optional<size_t> baseline_;
};

// Warm workers of references, the most recently used ones, since each holds memory of the device.
class References {
 public:
  explicit References(DeviceKind kind, size_t most = 3) : kind_(kind), most_(most) {}

  // Begins to start a worker for the operator's reference where none is warm that serves it.
  Result<void> Prefetch(const Operator& op);
  // The operator's reference, loaded; it stays valid until the next Prefetch or Get.
  Result<gate::Reference*> Get(const Operator& op);
  // Ends the worker of the operator's reference: what failed may have left it in any state.
  void Drop(const Operator& op);

 private:
  DeviceKind kind_;
  size_t most_;
  std::list<gate::Reference> kept_;  // the latest first
};

// Judges a field on workloads of one operator, with that operator's reference; `verdicts` passes on
// what is known, and `done` counts on. What is still held then outlives the field; the caller waits
// for it. A workload that does not fit the machine gives each candidate the verdict `unsupported`.
Result<void> EvaluateField(const std::vector<const Workload*>& workloads, const Field& field,
                           References* references, const Machine& machine,
                           gate::JudgeOptions options, HeldVerdicts* verdicts, size_t* done);

// How many fields may be prepared ahead of the one that is measured: none on a CPU, where it would
// disturb the measurement.
size_t FieldsAhead(DeviceKind kind);

}  // namespace roofmark::pipeline
