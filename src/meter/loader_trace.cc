// SPDX-License-Identifier: Apache-2.0
#include "meter/loader_trace.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "base/memory_maps.h"
#include "base/text.h"

namespace roofmark::meter {
namespace {

constexpr std::array<std::string_view, 9> kPlumbing = {
    "libcuda.so", "libcudart.so", "libcudart-", "libcupti.so",    "libroofmark_meter.so",
    "libc.so",    "libpthread",   "ld-linux",   "libcudadebugger"};

// Where a program in the sandbox can put files (worker/file_tree.h), and names of files that are
// elsewhere for everybody else.
constexpr std::array<std::string_view, 5> kWritable = {"/scratch/", "/tmp/", "/dev/", "/proc/",
                                                       "/memfd:"};

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool StartsWithAny(std::string_view text, const auto& starts) {
  return std::ranges::any_of(starts,
                             [text](std::string_view start) { return text.starts_with(start); });
}

// The mappings of this process, as text.
std::string ReadMaps() {
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  return std::move(text).str();
}

// Into the text.
std::vector<MappedRange> RangesIn(std::string_view maps) {
  std::vector<MappedRange> ranges;
  for (const std::string_view line : Split(maps, '\n')) {
    if (const auto range = ParseMapsLine(line)) ranges.push_back(*range);
  }
  return ranges;
}

std::string FileAt(const void* address, const std::vector<MappedRange>& ranges) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto found = std::ranges::find_if(
      ranges, [at](const MappedRange& range) { return range.begin <= at && at < range.end; });
  const bool is_file = found != ranges.end() && found->path.starts_with('/');
  return is_file ? std::string(found->path) : std::string();
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
    if (!each(info, inside)) return;
  }
}

// Where this library itself begins.
const void* OwnBase() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<const void*>(&IsPlumbing), &info) == 0 ? nullptr
                                                                          : info.dli_fbase;
}

}  // namespace

// What is shown to a program in one of these places is mounted so that it cannot write there.
bool ProgramMayWrite(std::string_view path) {
  if (path.find('/') == std::string_view::npos) return false;
  if (!path.starts_with('/') || path.ends_with(" (deleted)")) return true;
  if (path.starts_with("/candidate/")) return true;
  if (!StartsWithAny(path, kWritable)) return false;
  struct statvfs place{};
  return ::statvfs(std::string(path).c_str(), &place) != 0 || (place.f_flag & ST_RDONLY) == 0;
}

bool IsPlumbing(std::string_view path) {
  return StartsWithAny(FileName(path), kPlumbing) && !ProgramMayWrite(path);
}

std::string MappedFile(const void* address) {
  const std::string maps = ReadMaps();
  return FileAt(address, RangesIn(maps));
}

std::vector<std::string> CallingObjects(size_t limit) {
  const void* const own = OwnBase();
  const std::string maps = ReadMaps();
  const std::vector<MappedRange> ranges = RangesIn(maps);
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  std::vector<std::string> objects;
  WalkStack([&](const Dl_info& info, const void* inside) {
    std::string path = FileAt(inside, ranges);
    const bool is_program = path.empty() || path == program;
    if (is_program) path = info.dli_fname;
    // A C library may be called libc.so.6 and be a link to libc-2.31.so.
    const bool linked =
        StartsWithAny(FileName(info.dli_fname), kPlumbing) && !ProgramMayWrite(path);
    // The meter is a library wherever there is something to trace, but not in its own tests.
    if (IsPlumbing(path) || linked || (info.dli_fbase == own && !is_program)) return true;
    if (std::ranges::find(objects, path) == objects.end()) objects.push_back(std::move(path));
    return objects.size() < limit;
  });
  return objects;
}

std::vector<std::string> CallingFunctions(size_t limit) {
  std::vector<std::string> functions;
  WalkStack([&](const Dl_info& info, const void* /*inside*/) {
    if (IsPlumbing(info.dli_fname)) return true;
    std::string function(FileName(info.dli_fname));
    function += ':';
    if (info.dli_sname != nullptr) function += info.dli_sname;
    if (functions.empty() || functions.back() != function) functions.push_back(function);
    return functions.size() < limit;
  });
  return functions;
}

}  // namespace roofmark::meter
