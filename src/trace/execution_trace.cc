// SPDX-License-Identifier: Apache-2.0
#include "trace/execution_trace.h"

#include <array>

#include "base/json.h"
#include "trace/event_fields.h"
#include "trace/json_cursor.h"
#include "trace/number_text.h"
#include "trace/op_texts.h"

namespace roofmark::trace {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTensor = "Tensor(";

// What one node says, as JSON texts of the trace.
struct Node {
  std::string name;
  uint64_t rf_id = 0;
  uint64_t id = 0;
  uint64_t parent = 0;
  uint64_t thread = 0;
  std::string shapes;
  std::string types;
  std::string values;
};

// "Tensor(c10::BFloat16)" -> "c10::BFloat16", "Int" -> "Scalar": Kineto's words.
std::string KinetoType(std::string_view type) {
  if (type.starts_with(kTensor) && type.ends_with(')')) {
    return std::string(type.substr(kTensor.size(), type.size() - kTensor.size() - 1));
  }
  if (type.starts_with("GenericList[Tensor")) return "TensorList";
  if (type.starts_with("GenericList")) return "ScalarList";
  if (type == "Int" || type == "Double" || type == "Bool") return "Scalar";
  return "";
}

std::string ConcreteText(const Json& value, std::string_view type) {
  if (type.starts_with(kTensor) || value.is_object() || value.is_null()) return "";
  if (value.is_string()) return value.as_string() == "<None>" ? "" : value.as_string();
  if (value.is_bool()) return value.as_bool() ? "True" : "False";
  if (value.is_array() && type.starts_with("GenericList[Tensor")) return "";
  return value.Dump();
}

// The same text for the same value, however it was spaced.
std::string Compact(const std::string& text) {
  const Result<Json> json = Json::Parse(text);
  return json ? json->Dump() : std::string();
}

TracedArguments ToKineto(const Node& node) {
  TracedArguments out{
      .name = Unescape(node.name), .dims = Compact(node.shapes), .types = {}, .concrete = {}};
  const Result<Json> types = Json::Parse(node.types);
  if (!types || !types->is_array()) return out;
  Json kinds = Json::MakeArray();
  for (const Json& type : types->array()) {
    kinds.Push(type.is_string() ? KinetoType(type.as_string()) : std::string());
  }
  out.types = kinds.Dump();
  const Result<Json> values = Json::Parse(node.values);
  if (!values || !values->is_array()) return out;
  Json texts = Json::MakeArray();
  for (size_t i = 0; i < values->array().size(); ++i) {
    const Json* type = i < types->array().size() ? &types->array()[i] : nullptr;
    texts.Push(ConcreteText(values->array()[i],
                            type != nullptr && type->is_string() ? type->as_string() : ""));
  }
  out.concrete = texts.Dump();
  return out;
}

class TraceReader {
 public:
  explicit TraceReader(ByteSource& source) : cursor_(source) {}

  Result<ExecutionTrace> Run() {
    bool found = false;
    std::string key;
    if (!TRY(cursor_.EnterObject())) return Fail(ErrorKind::kInput, "no JSON object");
    while (TRY(cursor_.NextKey(key))) {
      if (key != "nodes") {
        TRY(cursor_.SkipValue());
        continue;
      }
      found = true;
      if (!TRY(cursor_.EnterArray())) continue;
      while (TRY(cursor_.NextElement())) TRY(ReadNode());
    }
    if (!found) return Fail(ErrorKind::kInput, "no member 'nodes': no execution trace");
    trace_.damage = cursor_.damage();
    return std::move(trace_);
  }

 private:
  Result<void> ReadNode() {
    Node node;
    std::string key;
    if (!TRY(cursor_.EnterObject())) return {};
    while (TRY(cursor_.NextKey(key))) TRY(Member(key, node));
    const auto row = static_cast<uint32_t>(trace_.ops.size());
    trace_.ops.push_back(
        {.id = node.id, .parent = node.parent, .thread = node.thread, .arguments = ToKineto(node)});
    // Number 0 is that of the frames around threads and of kernels of compiled code.
    if (node.rf_id != 0 && !node.shapes.empty()) trace_.by_id.try_emplace(node.rf_id, row);
    return {};
  }

  Result<void> Member(const std::string& key, Node& node) {
    if (key == "name") {
      node.name = TRY(cursor_.Scalar());
    } else if (key == "rf_id") {
      node.rf_id = ParseIdentifier(TRY(cursor_.Scalar()));
    } else if (key == "id") {
      node.id = ParseIdentifier(TRY(cursor_.Scalar()));
    } else if (key == "parent" || key == "ctrl_deps") {
      node.parent = ParseIdentifier(TRY(cursor_.Scalar()));
    } else if (key == "tid") {
      node.thread = ParseIdentifier(TRY(cursor_.Scalar()));
    } else if (key == "input_shapes") {
      node.shapes = TRY(cursor_.Raw());
    } else if (key == "input_types") {
      node.types = TRY(cursor_.Raw());
    } else if (key == "inputs") {
      TRY(Inputs(node));
    } else if (key == "attrs") {
      TRY(Attributes(node));
    } else {
      TRY(cursor_.SkipValue());
    }
    return {};
  }

  // An array of values, or an object of arrays.
  Result<void> Inputs(Node& node) {
    const std::string raw = TRY(cursor_.Raw());
    if (raw.starts_with('[')) node.values = raw;
    if (!raw.starts_with('{')) return {};
    const Result<Json> inputs = Json::Parse(raw);
    if (!inputs || !inputs->is_object()) return {};
    for (const auto& [name, value] : inputs->object()) {
      if (name == "values") node.values = value.Dump();
      if (name == "shapes") node.shapes = value.Dump();
      if (name == "types") node.types = value.Dump();
    }
    return {};
  }

  Result<void> Attributes(Node& node) {
    const Result<Json> attributes = Json::Parse(TRY(cursor_.Raw()));
    if (!attributes || !attributes->is_array()) return {};
    for (const Json& attribute : attributes->array()) {
      const Json* name = attribute.Find("name");
      const Json* value = attribute.Find("value");
      if (name == nullptr || value == nullptr || !name->is_string() || !value->is_int()) continue;
      if (name->as_string() == "rf_id") node.rf_id = static_cast<uint64_t>(value->as_int());
      if (name->as_string() == "tid") node.thread = static_cast<uint64_t>(value->as_int());
    }
    return {};
  }

  JsonCursor cursor_;
  ExecutionTrace trace_;
};

}  // namespace

Result<ExecutionTrace> ReadExecutionTrace(ByteSource source) {
  return TraceReader(source).Run();
}

Result<ExecutionTrace> ReadExecutionTrace(const fs::path& path) {
  const std::string context = "reading execution trace " + path.string();
  return TRY_IN(ReadExecutionTrace(TRY_IN(ByteSource::OpenFile(path), context)), context);
}

void GiveArguments(const TracedArguments& arguments, uint32_t row, Profile& profile) {
  CpuOp& op = profile.ops[row];
  const OpTexts known = OpTextsOf(op.arguments, profile.text);
  const auto or_known = [](const std::string& text, std::string_view otherwise) {
    return text.empty() ? otherwise : std::string_view(text);
  };
  std::string scratch;
  op.arguments = InternOpTexts({arguments.dims, or_known(arguments.types, known.types),
                                or_known(arguments.concrete, known.concrete)},
                               profile.text, scratch);
}

void MarkTraced(TracedFrom from, uint32_t row, const Profile& profile, TracedOps* traced) {
  if (traced == nullptr) return;
  traced->by_op.resize(profile.ops.size());
  from.trace = static_cast<uint32_t>(traced->names.size() - 1);
  traced->by_op[row] = from;
}

uint64_t AddArgumentsById(const ExecutionTrace& trace, Profile& profile, TracedOps* traced) {
  uint64_t given = 0;
  for (uint32_t row = 0; row < profile.record_ids.size(); ++row) {
    const CpuOp& op = profile.ops[row];
    if (HasDims(op.arguments, profile.text) || profile.record_ids[row] == kNone32) continue;
    const auto found = trace.by_id.find(profile.record_ids[row]);
    if (found == trace.by_id.end()) continue;
    const TracedArguments& arguments = trace.ops[found->second].arguments;
    if (arguments.name != profile.text.Text(op.name)) continue;
    GiveArguments(arguments, row, profile);
    MarkTraced({}, row, profile, traced);
    ++given;
  }
  return given;
}

fs::path FindExecutionTrace(const fs::path& profile) {
  std::string name = profile.filename().string();
  const size_t dot = name.find(".json");
  if (dot == std::string::npos) return {};
  std::string stem = name.substr(0, dot);
  constexpr std::string_view kKineto = "_kineto";
  if (stem.ends_with(kKineto)) stem.resize(stem.size() - kKineto.size());
  std::error_code ignored;
  for (const char* ending : {"_et.json", "_et.json.gz"}) {
    fs::path beside = profile.parent_path() / (stem + ending);
    if (beside != profile && fs::is_regular_file(beside, ignored)) return beside;
  }
  return {};
}

}  // namespace roofmark::trace
