// SPDX-License-Identifier: Apache-2.0
#include "worker/code_pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/owned.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

constexpr uint64_t kPresent = uint64_t{1} << 63;
constexpr uint64_t kSwapped = uint64_t{1} << 62;
constexpr uint64_t kOfFile = uint64_t{1} << 61;
constexpr std::array<std::string_view, 3> kOwnPlaces = {"/candidate/", "/scratch/", "/tmp/"};

struct CodeRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string_view path;
};

// "begin-end perms offset device inode path" (proc_pid_maps(5)), of private executable mappings of
// others' files.
std::optional<CodeRange> ParseCode(std::string_view line) {
  const size_t path = line.find('/');
  CodeRange range;
  const auto begin = std::from_chars(line.data(), line.data() + line.size(), range.begin, 16);
  if (path == std::string_view::npos || begin.ec != std::errc() || *begin.ptr != '-') return {};
  const auto end = std::from_chars(begin.ptr + 1, line.data() + line.size(), range.end, 16);
  if (end.ec != std::errc() || end.ptr + 5 > line.data() + path) return {};
  const std::string_view permissions(end.ptr + 1, 4);
  if (permissions[2] != 'x' || permissions[3] != 'p') return {};
  range.path = line.substr(path);
  const bool own = std::ranges::any_of(
      kOwnPlaces, [&](std::string_view place) { return range.path.starts_with(place); });
  return own ? std::nullopt : std::optional(range);
}

// Whether a page of the range holds what no file does.
bool WrittenTo(int pagemap, const CodeRange& range) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  std::vector<uint64_t> entries(4096);
  for (uint64_t at = range.begin / page; at < range.end / page; at += entries.size()) {
    const uint64_t count = std::min<uint64_t>(entries.size(), range.end / page - at);
    const ssize_t got = ::pread(pagemap, entries.data(), count * sizeof(uint64_t),
                                static_cast<off_t>(at * sizeof(uint64_t)));
    const size_t whole = got < 0 ? 0 : static_cast<size_t>(got) / sizeof(uint64_t);
    const bool written = std::any_of(
        entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(whole), [](uint64_t entry) {
          return (entry & (kPresent | kSwapped)) != 0 && (entry & kOfFile) == 0;
        });
    if (written) return true;
    if (whole < count) return false;
  }
  return false;
}

}  // namespace

std::string ChangedCode(pid_t pid) {
  const Fd pagemap(::open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC));
  const auto maps = ReadFile(fmt::format("/proc/{}/maps", pid));
  if (!pagemap.valid() || !maps) return "";
  for (const std::string_view line : Split(*maps, '\n')) {
    const std::optional<CodeRange> range = ParseCode(line);
    if (range && WrittenTo(pagemap.get(), *range)) return std::string(range->path);
  }
  return "";
}

}  // namespace roofmark::worker
