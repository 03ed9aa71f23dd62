// SPDX-License-Identifier: Apache-2.0
// How calls of a candidate are timed. The two device kinds differ in how a call is brought about
// and in which clocks exist, but not in what is measured, so both fill the same BatchTimes and the
// performance gate knows no device.
//
// Each timed call finds its operands outside the caches and the caches without dirty lines of
// others. The published clock is `time_ns`: the CUPTI span from the first kernel's start to the
// last one's end on a GPU, and the judge's own clock around the doorbell, less an empty ring, on a
// CPU.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "device/arena.h"
#include "gate/clock_log.h"
#include "gate/coldness.h"
#include "gate/extensions.h"
#include "model/verdict.h"
#include "worker/worker.h"

namespace roofmark::gate {

// One call: the arenas by the names under which the worker has mapped them, and the judge's view.
struct TimedCall {
  std::string in_name;
  std::string out_name;
  device::Arena* in = nullptr;
  device::Arena* out = nullptr;
  // Made by replaying a graph that was captured around the call; all calls of a batch are alike.
  bool graph = false;
};

struct BatchTimes {
  // One entry per call, in order; all in nanoseconds.
  std::vector<double> time_ns;    // the published clock
  std::vector<double> device_ns;  // CUPTI span; the worker's own clock on a CPU
  std::vector<double> event_ns;   // stream events; task clock on a CPU (0 where not sampled)
  // The judge's own clock: (batch with the calls - the same batch without them) / calls. Mean over
  // the batch, with the half-width of its uncertainty; empty when this batch was not paired.
  std::vector<double> host_ns;
  // Device time (CPU: task time) by owner in nanoseconds, summed over the batch.
  Shares owner_ns{};
  std::vector<std::string> kernels;  // distinct, "owner  ns  name"
  // Hashes of the code objects, each once, whose kernels ran as the language's (Owner::kDsl).
  std::vector<std::string> dsl_code;
  // Evidence that work ran outside its call's window, or that a call left the device in another
  // state; empty when there is none.
  std::string unsynchronised;
  Coldness coldness;
  // The APIs through which foreign code was reached, most telling first: testimony, for a person.
  std::vector<std::string> called;
  // What this machine could not provide ("no CUPTI: published time is by events"); empty = all.
  std::string level;
  // That the judge itself went without a processor, so that something may have escaped it.
  std::string busy;
};

// What the judge itself knows about where the candidate's code comes from.
struct Provenance {
  Lane lane = Lane::kCpp;
  // SHA-256 of each cubin that the judge's own compilation produced: the one witness that the
  // candidate cannot write. Empty for lanes that compile in their worker.
  std::vector<std::string> own_code;
  // Whether that code can launch kernels from kernels, which no meter reports.
  bool launches_from_device = false;
  // Names of the kernels that the candidate's source defines in a DSL, read by the judge
  // (JitKernelNames in cuda_provenance.h). Empty for native lanes.
  std::vector<std::string> jit_kernels;
  // Libraries that its Python built in the worker, by what building left there (FindExtensions).
  std::vector<BuiltExtension> extensions;
  // Names of kernels in Python files that the worker's tools wrote into its scratch folder: what
  // another compiler generated (GeneratedKernels).
  std::vector<std::string> generated_kernels;
  // The candidate's library or source file as its worker sees it, e.g. "/candidate/candidate.so".
  std::string path;
  // The folder that holds all of the candidate's on this machine, which is what a worker sees where
  // there is no tree of its own for it; empty = unknown.
  std::string stage;
};

// The machine is disturbed while this lives.
class Disturbance {
 public:
  Disturbance() = default;
  Disturbance(const Disturbance&) = delete;
  Disturbance& operator=(const Disturbance&) = delete;
  virtual ~Disturbance() = default;
};

class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  // Once per candidate worker, before its first batch.
  virtual Result<worker::Answer<void>> Prepare(worker::Worker& worker,
                                               const Provenance& provenance) = 0;
  // Keeps the worker from running until its next Time or Attribute, where a machine can do so: the
  // next inputs are about to be written, and nobody is to work on them ahead of his call.
  virtual void Quiet(worker::Worker& /*worker*/) {}
  // Lets a quiet worker run without being timed.
  virtual void Wake(worker::Worker& /*worker*/) {}
  // Times the calls in order. `workspace` is the mapped workspace arena's name, or empty.
  // Outputs were poisoned by the caller; the caller checks them afterwards.
  virtual Result<worker::Answer<BatchTimes>> Time(worker::Worker& worker,
                                                  std::span<const TimedCall> calls,
                                                  const std::string& workspace,
                                                  double timeout_s) = 0;
  // Who runs during such calls, where Time cannot tell without disturbing them: fills owner_ns,
  // kernels and level alone. It may make the calls again, so outputs hold anything afterwards and
  // have to be checked before. Does nothing where Time has told already.
  virtual Result<worker::Answer<BatchTimes>> Attribute(worker::Worker& worker,
                                                       std::span<const TimedCall> calls,
                                                       const std::string& workspace,
                                                       double timeout_s);
  // Adds a reading of the device's clocks, power and temperature, taken now; nothing on a device
  // that does not tell them.
  virtual void Observe(ClockLog& /*log*/) const {}
  // The granularity of the published clock; 0 where it is finer than anything that matters.
  virtual double TickNs() const { return 0; }
  // Makes this worker's next call meet another schedule than an idle machine gives it, drawn at
  // random: other work on the processor, fewer of its cores. An honest call takes longer, no more.
  // Null where this device knows no disturbance. Requires: Prepare.
  virtual Result<worker::Answer<std::unique_ptr<Disturbance>>> Disturb(worker::Worker& worker);
  // Whether the three clocks of a workload agree; on disagreement the text names the fault (side
  // stream, work after return, tampered timer). Empty when they agree. `published_ns`:
  // what the verdict gives as the time.
  virtual std::string ClockFault(const Clocks& clocks, double published_ns) const = 0;
};

}  // namespace roofmark::gate
