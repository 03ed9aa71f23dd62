// SPDX-License-Identifier: Apache-2.0
#include "meter/loader_trace.h"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>

namespace roofmark::meter {
namespace {

constexpr std::array<std::string_view, 9> kPlumbing = {
    "libcuda.so", "libcudart.so", "libcudart-", "libcupti.so",    "libroofmark_meter.so",
    "libc.so",    "libpthread",   "ld-linux",   "libcudadebugger"};

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Calls `each` with what is known of each frame of this stack, nearest first, until it says false.
template <typename Each>
void WalkStack(Each each) {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  for (int i = 0; i < count; ++i) {
    // A return address may lie behind the function whose last instruction the call is.
    const char* const inside = static_cast<const char*>(frames[static_cast<size_t>(i)]) - 1;
    Dl_info info{};
    if (::dladdr(inside, &info) == 0 || info.dli_fname == nullptr) continue;
    if (IsPlumbing(info.dli_fname)) continue;
    if (!each(info)) return;
  }
}

}  // namespace

bool IsPlumbing(std::string_view path) {
  const std::string_view name = FileName(path);
  return std::ranges::any_of(kPlumbing,
                             [name](std::string_view start) { return name.starts_with(start); });
}

std::vector<std::string> CallingObjects(size_t limit) {
  std::vector<std::string> objects;
  WalkStack([&](const Dl_info& info) {
    const std::string_view path = info.dli_fname;
    if (std::ranges::find(objects, path) == objects.end()) objects.emplace_back(path);
    return objects.size() < limit;
  });
  return objects;
}

std::vector<std::string> CallingFunctions(size_t limit) {
  std::vector<std::string> functions;
  WalkStack([&](const Dl_info& info) {
    std::string function(FileName(info.dli_fname));
    function += ':';
    if (info.dli_sname != nullptr) function += info.dli_sname;
    if (functions.empty() || functions.back() != function) functions.push_back(function);
    return functions.size() < limit;
  });
  return functions;
}

}  // namespace roofmark::meter
