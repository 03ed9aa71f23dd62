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
};

struct MeterReport {
  std::string fault;  // why nothing was metered
  int64_t dropped = 0;
  int64_t outside = 0;  // operations between the last batch or call and this batch
  std::string outside_name;
  std::vector<MeteredModule> modules;
  std::vector<MeteredName> names;
  std::vector<MeteredOperation> operations;  // by start
};

// Errors: kInput for anything but the meter's format (meter/meter.h); indices are checked.
Result<MeterReport> ParseMeterReport(const Json& json);

struct CallSpan {
  double device_ns = 0;            // first start to last end; 0 when nothing ran
  double unseen_ns = 0;            // the end of device_ns in which only unreported kernels ran
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

// Candidates that return their outputs have them copied to their place by the worker, behind the
// mark that ends the call. Copies there, and nothing else, are allowed for such lanes.
enum class Settling { kNone, kCopies };

// CUPTI reports no kernel that a kernel launched (dynamic parallelism). But the stream goes on only
// when a parent and all its descendants are done (CUDA programming guide, Dynamic Parallelism: a
// grid is complete when its children are), so where there may be children a call ends when the mark
// behind it starts: late by the gap before that mark, never early.
enum class Children { kNone, kUnreported };

// `stage_sha256` is the hash of the stage's cubin (device/cuda_stage.h), by which its kernels are
// recognised.
Timeline CutIntoCalls(const MeterReport& report, const std::string& stage_sha256, size_t calls,
                      Settling settling, Children children = Children::kNone);

}  // namespace roofmark::gate
