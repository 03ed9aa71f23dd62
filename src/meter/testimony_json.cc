// SPDX-License-Identifier: Apache-2.0
// The meter's words as JSON, written by hand: the library that runs inside foreign processes brings
// no other library along.
#include "meter/meter.h"

namespace roofmark::meter {
namespace {

void AppendString(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      // Paths and symbols are ASCII in practice; any other byte is shown, never passed on.
      out += "\\u00";
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

// Calls `each` for the elements with commas between them, inside brackets.
template <typename Range, typename Each>
void AppendArray(std::string& out, const Range& range, Each each) {
  out += '[';
  bool first = true;
  for (const auto& element : range) {
    if (!first) out += ',';
    first = false;
    each(element);
  }
  out += ']';
}

constexpr uint32_t kUnlisted = UINT32_MAX;
// PyTorch loads hundreds of modules; where there are this many at most, each is worth a word.
constexpr size_t kFewModules = 64;

// New indices for the modules that are told of, in order; kUnlisted for the others.
std::vector<uint32_t> ListedModules(const Testimony& testimony) {
  const bool few = testimony.modules.size() <= kFewModules;
  std::vector<uint32_t> listed(testimony.modules.size(), few ? 0 : kUnlisted);
  for (const auto& modules : testimony.name_modules) {
    for (const uint32_t module : modules) listed[module] = 0;
  }
  for (size_t i = 0; i < listed.size(); ++i) {
    if (testimony.modules[i].unreadable || testimony.modules[i].brought) listed[i] = 0;
  }
  uint32_t next = 0;
  for (uint32_t& index : listed) {
    if (index != kUnlisted) index = next++;
  }
  return listed;
}

void AppendModule(std::string& out, const ModuleRecord& module) {
  out += "{\"sha256\":";
  AppendString(out, module.sha256);
  out += ",\"loader\":";
  AppendString(out, module.loader);
  out += ",\"callers\":";
  AppendArray(out, module.callers, [&](const std::string& caller) { AppendString(out, caller); });
  out += ",\"bytes\":" + std::to_string(module.bytes);
  if (module.unreadable) out += ",\"unreadable\":true";
  out += '}';
}

void AppendOperation(std::string& out, const OperationRecord& operation) {
  out += '[' + std::to_string(static_cast<int>(operation.kind)) + ',' +
         std::to_string(operation.name) + ',' + std::to_string(operation.start_ns) + ',' +
         std::to_string(operation.end_ns) + ',' + std::to_string(operation.stream) + ',' +
         std::to_string(operation.correlation) + ',' + std::to_string(operation.bytes) + ']';
}

}  // namespace

std::string TestimonyToJson(const Testimony& testimony) {
  const std::vector<uint32_t> listed = ListedModules(testimony);
  std::string out = "{\"fault\":";
  AppendString(out, testimony.fault);
  out += ",\"dropped\":" + std::to_string(testimony.dropped);
  out += ",\"outside\":" + std::to_string(testimony.outside) + ",\"outside_name\":";
  AppendString(out, testimony.outside_name);
  out += ",\"conditionals\":" + std::to_string(testimony.conditionals);
  out += ",\"module_count\":" + std::to_string(testimony.module_count);
  std::vector<ModuleRecord> modules;
  for (size_t i = 0; i < listed.size(); ++i) {
    if (listed[i] != kUnlisted) modules.push_back(testimony.modules[i]);
  }
  out += ",\"modules\":";
  AppendArray(out, modules, [&](const ModuleRecord& module) { AppendModule(out, module); });
  out += ",\"names\":";
  size_t name = 0;
  AppendArray(out, testimony.names, [&](const std::string& text) {
    out += "{\"name\":";
    AppendString(out, text);
    out += ",\"modules\":";
    AppendArray(out, testimony.name_modules[name++],
                [&](uint32_t module) { out += std::to_string(listed[module]); });
    out += '}';
  });
  out += ",\"operations\":";
  AppendArray(out, testimony.operations,
              [&](const OperationRecord& operation) { AppendOperation(out, operation); });
  return out + "}";
}

std::string WatchedToJson(const Watched& watched) {
  std::string out = "{\"fault\":";
  AppendString(out, watched.fault);
  out += ",\"calls\":{";
  bool first = true;
  for (const auto& [function, count] : watched.calls) {
    if (!first) out += ',';
    first = false;
    AppendString(out, function);
    out += ':' + std::to_string(count);
  }
  out += "},\"stacks\":";
  AppendArray(out, watched.stacks, [&](const std::vector<std::string>& stack) {
    AppendArray(out, stack, [&](const std::string& function) { AppendString(out, function); });
  });
  return out + "}";
}

}  // namespace roofmark::meter
