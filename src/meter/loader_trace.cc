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

}  // namespace

bool IsPlumbing(std::string_view path) {
  const size_t slash = path.rfind('/');
  const std::string_view name = slash == std::string_view::npos ? path : path.substr(slash + 1);
  return std::ranges::any_of(kPlumbing,
                             [name](std::string_view start) { return name.starts_with(start); });
}

std::vector<std::string> CallingObjects(size_t limit) {
  std::array<void*, 64> frames{};
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  std::vector<std::string> objects;
  for (int i = 0; i < count && objects.size() < limit; ++i) {
    Dl_info info{};
    if (::dladdr(frames[static_cast<size_t>(i)], &info) == 0 || info.dli_fname == nullptr) continue;
    const std::string_view path = info.dli_fname;
    if (IsPlumbing(path) || std::ranges::find(objects, path) != objects.end()) continue;
    objects.emplace_back(path);
  }
  return objects;
}

}  // namespace roofmark::meter
