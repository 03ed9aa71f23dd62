// SPDX-License-Identifier: Apache-2.0
// The meter's testimony about one batch, cut into calls. Everything that ran on the device from the
// mark before call i to the flush behind it belongs to call i, on whatever stream it ran; work that
// ran elsewhere is evidence that the candidate does not respect its stream.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace roofmark::gate {

struct MeteredModule {
  std::string sha256;
  std::string loader;
  std::vector<std::string> callers;
  bool unreadable = false;  // it may hold kernels of any name (meter/cubin.h, ReadCubinNames)
};

struct MeteredName {
  std::string name;
  std::vector<size_t> modules;  // modules that hold a kernel of that name
};

enum class MeteredKind { kKernel, kMemcpy, kMemset };

struct MeteredOperation {
  MeteredKind kind = MeteredKind::kKernel;
  size_t name = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t stream = 0;
  int64_t correlation = 0;  // grows with the launches of a process; 0 = not told
  int64_t bytes = 0;        // of a copy within the device
};

struct MeterReport {
  std::string fault;  // why nothing was metered
  int64_t dropped = 0;
  int64_t outside = 0;  // operations between the last batch or call and this batch
  std::string outside_name;
  int64_t conditionals = 0;  // handles of conditional nodes that the process ever made
  std::vector<MeteredModule> modules;
  std::vector<MeteredName> names;
  std::vector<MeteredOperation> operations;  // by start
};

// Errors: kInput for anything but the meter's format (meter/meter.h); indices are checked.
Result<MeterReport> ParseMeterReport(const Json& json);

struct CallSpan {
  double device_ns = 0;            // first start to last end; 0 when nothing ran
  double unseen_ns = 0;            // of device_ns, in which only unreported kernels can have run
  double settle_ns = 0;            // the worker's own copies behind the call
  std::vector<size_t> operations;  // into MeterReport::operations
};

struct Timeline {
  std::vector<CallSpan> calls;
  // Mean length of the flushes behind the calls. They also write back what the calls left dirty.
  double flush_ns = 0;
  // Work outside the windows of its calls; empty when there is none.
  std::string unsynchronised;
  // Why the records cannot be trusted or used ("marks are missing"); empty when they can.
  std::string fault;
};

// CUPTI reports no kernel that a kernel launched (dynamic parallelism). But the stream goes on only
// when a parent and all its descendants are done (CUDA programming guide, Dynamic Parallelism: a
// grid is complete when its children are), so where there may be children a call ends when the mark
// behind it starts: late by the gap before that mark, never early. That mark waits for the whole
// context then (CudaStage::JoinContext), and what may launch kernels has to be launched between the
// marks: nothing waits for what it launches when it comes later.
enum class Children { kNone, kUnreported };

// `stage_sha256` is the hash of the stage's cubin (device/cuda_stage.h), by which its kernels are
// recognised. Candidates that return their outputs have them copied to their places by the worker,
// behind the mark that ends the call: `returned` is the bytes of each such output, empty for
// candidates that write to their destinations. One copy within the device of just that size is
// allowed there for each, and nothing else: contiguous tensors of one type are what PyTorch copies
// so, and others the worker stores within the call.
Timeline CutIntoCalls(const MeterReport& report, const std::string& stage_sha256, size_t calls,
                      const std::vector<int64_t>& returned, Children children = Children::kNone);

}  // namespace roofmark::gate
