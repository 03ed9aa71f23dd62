// SPDX-License-Identifier: Apache-2.0
#include "worker/own_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <vector>

#include "base/files.h"
#include "base/owned.h"
#include "base/text.h"

namespace roofmark::worker {
namespace {

struct Notes {
  std::mutex mutex;
  std::map<pid_t, std::string> paths;
};

Notes& AllNotes() {
  static Notes notes;
  return notes;
}

std::string NotedPath(pid_t pid) {
  Notes& notes = AllNotes();
  const std::scoped_lock lock(notes.mutex);
  const auto found = notes.paths.find(pid);
  return found == notes.paths.end() ? std::string() : found->second;
}

FileIdentity IdentityAt(const void* address) {
  const std::string begin = fmt::format("{:x}-", reinterpret_cast<uintptr_t>(address));
  const Result<std::string> maps = ReadFile("/proc/self/maps");
  for (const std::string_view line : Split(maps ? std::string_view(*maps) : "", '\n')) {
    // Addresses are padded with zeros to eight digits.
    const size_t digits = line.find_first_not_of('0');
    if (digits != line.npos && line.substr(digits).starts_with(begin)) return IdentityIn(line);
  }
  return {};
}

}  // namespace

FileIdentity IdentityIn(std::string_view maps_line) {
  const std::vector<std::string_view> words = Split(maps_line, ' ');
  if (words.size() < 5 || words[4] == "0" || words[4].empty()) return {};
  return fmt::format("{} {}", words[3], words[4]);
}

void NoteOwnFile(pid_t pid, std::string path) {
  Notes& notes = AllNotes();
  const std::scoped_lock lock(notes.mutex);
  notes.paths[pid] = std::move(path);
}

void ForgetOwnFile(pid_t pid) {
  Notes& notes = AllNotes();
  const std::scoped_lock lock(notes.mutex);
  notes.paths.erase(pid);
}

FileIdentity OwnFileOf(pid_t pid, const std::string& otherwise) {
  const std::string noted = NotedPath(pid);
  const std::string path = fmt::format("/proc/{}/root{}", pid, noted.empty() ? otherwise : noted);
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return {};
  const auto bytes = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (mapped == MAP_FAILED) return {};
  FileIdentity identity = IdentityAt(mapped);
  ::munmap(mapped, bytes);
  return identity;
}

}  // namespace roofmark::worker
