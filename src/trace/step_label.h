// SPDX-License-Identifier: Apache-2.0
// What servers write into the annotation around each step: the phase, and for attention exactly the
// sums that its cost depends on. docs/formats.md lists the forms and who writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/shape.h"

namespace roofmark::trace {

// The sequences of one phase in a step. -1 where the label does not say.
struct StepPart {
  int64_t sequences = 0;
  int64_t tokens = 0;           // sum of query lengths q
  int64_t keys = -1;            // sum of context lengths k
  int64_t tokens_squared = -1;  // sum of q * q
  int64_t tokens_keys = -1;     // sum of q * k
  bool operator==(const StepPart&) const = default;
};

struct StepLabel {
  Phase phase = Phase::kUnknown;
  StepPart context;     // prefill, whole or in chunks
  StepPart generation;  // decode
  // Whether both parts carry all four sums.
  bool Detailed() const;
  bool operator==(const StepLabel&) const = default;
};

std::optional<StepLabel> ParseStepLabel(std::string_view text);

// `capture_32_FULL`: the annotation around the capture of a graph for that many tokens.
struct CaptureLabel {
  int64_t tokens = 0;
  std::string_view mode;
};
std::optional<CaptureLabel> ParseCaptureLabel(std::string_view text);

// The phase that the name of a profile's file states (SGLang: "...-TP-0-DECODE.trace.json.gz").
Phase PhaseOfFileName(std::string_view name);

}  // namespace roofmark::trace
