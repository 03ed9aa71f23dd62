// SPDX-License-Identifier: Apache-2.0
// Each form is a few literals and numbers; no regular expressions, since every annotation of a
// profile is tried.
#include "trace/step_label.h"

#include <charconv>

namespace roofmark::trace {
namespace {

// Eats literals and numbers from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : rest_(text) {}

  bool Eat(std::string_view literal) {
    if (!rest_.starts_with(literal)) return false;
    rest_.remove_prefix(literal.size());
    return true;
  }
  bool Eat(std::string_view literal, int64_t& number) { return Eat(literal) && Number(number); }
  bool Number(int64_t& number) {
    const auto [end, error] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), number, 10);
    if (error != std::errc() || number < 0) return false;
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    return true;
  }
  bool done() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

Phase PhaseOf(const StepLabel& label) {
  const bool context = label.context.sequences > 0;
  const bool generation = label.generation.sequences > 0;
  if (context && generation) return Phase::kMixed;
  if (context) return Phase::kPrefill;
  return generation ? Phase::kDecode : Phase::kUnknown;
}

// "9(sq8155sk8430sqsq7475785sqsk7671310)", "9(8155)" or "1(888_788544)".
bool ReadPart(Cursor& cursor, StepPart& part) {
  if (!cursor.Number(part.sequences) || !cursor.Eat("(")) return false;
  if (cursor.Eat("sq", part.tokens)) {
    if (!cursor.Eat("sk", part.keys) || !cursor.Eat("sqsq", part.tokens_squared) ||
        !cursor.Eat("sqsk", part.tokens_keys)) {
      return false;
    }
  } else if (!cursor.Number(part.tokens)) {
    return false;
  } else {
    cursor.Eat("_", part.tokens_squared);
  }
  return cursor.Eat(")");
}

// vLLM: "execute_[tokens_]context_PART_generation_PART".
std::optional<StepLabel> ReadExecute(Cursor cursor) {
  StepLabel label;
  int64_t tokens = 0;
  if (cursor.Number(tokens) && !cursor.Eat("_")) return std::nullopt;
  if (!cursor.Eat("context_") || !ReadPart(cursor, label.context)) return std::nullopt;
  if (!cursor.Eat("_generation_") || !ReadPart(cursor, label.generation)) return std::nullopt;
  label.phase = PhaseOf(label);
  return label;
}

// The number behind "key=" somewhere in the text, or -1.
int64_t Field(std::string_view text, std::string_view key) {
  const size_t at = text.find(key);
  int64_t number = -1;
  if (at == std::string_view::npos) return number;
  Cursor cursor(text.substr(at + key.size()));
  return cursor.Number(number) ? number : -1;
}

// SGLang: "step[EXTEND bs=15 toks=15360]"; ATOM: "decode[bs=117/128 tok=117 ...]".
std::optional<StepLabel> ReadBracketed(std::string_view kind, std::string_view fields) {
  StepLabel label;
  const int64_t sequences = Field(fields, "bs=");
  if (sequences < 0) return std::nullopt;
  int64_t tokens = Field(fields, "toks=");
  if (tokens < 0) tokens = Field(fields, "tok=");
  const StepPart part{.sequences = sequences, .tokens = tokens < 0 ? sequences : tokens};
  if (kind == "DECODE" || kind == "decode") {
    label.phase = Phase::kDecode;
    label.generation = part;
  } else if (kind == "MIXED") {
    label.phase = Phase::kMixed;  // which sequences are of which phase is not said
    label.context = part;
  } else if (kind == "EXTEND" || kind == "PREFILL" || kind == "prefill") {
    label.phase = Phase::kPrefill;
    label.context = part;
  } else {
    return std::nullopt;
  }
  return label;
}

}  // namespace

bool StepLabel::Detailed() const {
  const auto full = [](const StepPart& part) {
    return part.sequences == 0 ||
           (part.keys >= 0 && part.tokens_squared >= 0 && part.tokens_keys >= 0);
  };
  return phase != Phase::kUnknown && full(context) && full(generation);
}

std::optional<StepLabel> ParseStepLabel(std::string_view text) {
  Cursor cursor(text);
  if (cursor.Eat("execute_")) return ReadExecute(cursor);
  if (cursor.Eat("step[")) {
    const std::string_view rest = cursor.rest();
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    return ReadBracketed(rest.substr(0, space), rest.substr(space));
  }
  for (const std::string_view kind : {"prefill", "decode"}) {
    Cursor atom(text);
    if (atom.Eat(kind) && atom.Eat("[")) return ReadBracketed(kind, atom.rest());
  }
  return std::nullopt;
}

std::optional<CaptureLabel> ParseCaptureLabel(std::string_view text) {
  Cursor cursor(text);
  CaptureLabel label;
  if (!cursor.Eat("capture_", label.tokens) || !cursor.Eat("_")) return std::nullopt;
  label.mode = cursor.rest();
  return label;
}

Phase PhaseOfFileName(std::string_view name) {
  if (name.find("-DECODE") != std::string_view::npos) return Phase::kDecode;
  if (name.find("-EXTEND") != std::string_view::npos) return Phase::kPrefill;
  return Phase::kUnknown;
}

}  // namespace roofmark::trace
