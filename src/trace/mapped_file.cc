// SPDX-License-Identifier: Apache-2.0
// The kernel answers a read of what is gone with SIGBUS. The handler looks the address up among the
// mappings of this file, puts zeros there, and lets the read go on; every other SIGBUS goes where
// it went before.
#include "trace/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace roofmark::trace {
namespace {

// Threads that mine have one each.
constexpr size_t kMappings = 256;

struct Mapping {
  std::atomic<bool> taken = false;
  std::atomic<uintptr_t> begin = 0;  // 0: nothing here
  std::atomic<uintptr_t> end = 0;
  std::atomic<bool> shrank = false;
};

std::array<Mapping, kMappings> mappings;
struct sigaction before_us;

size_t PageSize() {
  static const auto size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}
size_t DownToPage(size_t at) {
  return at & ~(PageSize() - 1);
}

// Only what a signal handler may do: system calls and atomics.
void OnBusError(int /*signal*/, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (Mapping& mapping : mappings) {
    const uintptr_t begin = mapping.begin.load();
    const uintptr_t end = mapping.end.load();
    if (begin == 0 || at < begin || at >= end) continue;
    void* const page = reinterpret_cast<void*>(DownToPage(at));
    void* const zeros = ::mmap(page, end - DownToPage(at), PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    if (zeros == MAP_FAILED) break;
    mapping.shrank = true;
    errno = error;
    return;
  }
  // Not ours: the same access meets whoever was there before.
  ::sigaction(SIGBUS, &before_us, nullptr);
  errno = error;
}

bool Listen() {
  static std::once_flag once;
  static bool listens = false;
  std::call_once(once, [] {
    PageSize();
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    listens = ::sigaction(SIGBUS, &action, &before_us) == 0;
  });
  return listens;
}

}  // namespace

std::unique_ptr<MappedFile> MappedFile::Map(int fd, size_t size) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0 || !S_ISREG(status.st_mode) || !Listen()) return nullptr;
  size_t slot = 0;
  while (slot < kMappings && mappings[slot].taken.exchange(true)) ++slot;
  if (slot == kMappings) return nullptr;
  void* const data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (data == MAP_FAILED) {
    mappings[slot].taken = false;
    return nullptr;
  }
  Mapping& mapping = mappings[slot];
  mapping.shrank = false;
  mapping.end = reinterpret_cast<uintptr_t>(data) + size;
  mapping.begin = reinterpret_cast<uintptr_t>(data);
  return std::unique_ptr<MappedFile>(new MappedFile(static_cast<const char*>(data), size, slot));
}

MappedFile::~MappedFile() {
  Mapping& mapping = mappings[slot_];
  mapping.begin = 0;
  ::munmap(const_cast<char*>(data_), size_);
  mapping.taken = false;
}

bool MappedFile::Slide(size_t begin, size_t end) {
  char* const data = const_cast<char*>(data_);
  const size_t last = DownToPage(begin);
  if (last > let_go_) {
    ::madvise(data + let_go_, last - let_go_, MADV_DONTNEED);
    let_go_ = last;
  }
  const size_t from = DownToPage(ready_);
  if (end <= ready_) return !shrank();
#ifdef MADV_POPULATE_READ
  // Refused by old kernels, which then fault as bytes are read.
  if (::madvise(data + from, end - from, MADV_POPULATE_READ) != 0 && errno != EINVAL) return false;
#endif
  ready_ = end;
  return !shrank();
}

bool MappedFile::shrank() const {
  return mappings[slot_].shrank;
}

}  // namespace roofmark::trace
