// SPDX-License-Identifier: Apache-2.0
#include "gate/called_apis.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "gate/cuda_provenance.h"

namespace roofmark::gate {
namespace {

// C++ functions without their parameters: "at::_ops::mm::call".
std::string Readable(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status), &std::free);
  if (status != 0 || text == nullptr) return symbol;
  const std::string_view whole = text.get();
  return std::string(whole.substr(0, whole.find('(')));
}

std::string ApiOf(const Json::Array& stack) {
  std::string api;
  for (const Json& frame : stack) {
    if (!frame.is_string()) return "";
    const std::string_view text = frame.as_string();
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos || colon + 1 == text.size()) continue;
    const std::string_view file = text.substr(0, colon);
    if (!IsForeignLibrary(file)) continue;
    constexpr size_t kLongest = 100;
    const std::string name = Readable(std::string(text.substr(colon + 1))).substr(0, kLongest);
    api = fmt::format("{} ({})", name, file);
  }
  return api;
}

}  // namespace

std::vector<std::string> CalledApis(const Json& watched) {
  std::vector<std::string> apis;
  const Json* const stacks = watched.Find("stacks");
  if (stacks == nullptr || !stacks->is_array()) return apis;
  for (const Json& stack : stacks->array()) {
    if (!stack.is_array()) continue;
    std::string api = ApiOf(stack.array());
    if (!api.empty() && std::ranges::find(apis, api) == apis.end()) apis.push_back(std::move(api));
  }
  return apis;
}

}  // namespace roofmark::gate
