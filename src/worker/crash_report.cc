// SPDX-License-Identifier: Apache-2.0
#include "worker/crash_report.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"

namespace roofmark::worker {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr std::array kFatal = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGSYS};

int report_socket = -1;

// Everything below runs in a signal handler: no allocation, no stdio.
class Text {
 public:
  void Add(std::string_view text) {
    const size_t room = bytes_.size() - size_;
    const size_t n = text.size() < room ? text.size() : room;
    std::memcpy(bytes_.data() + size_, text.data(), n);
    size_ += n;
  }
  void Add(int64_t number) {
    std::array<char, 24> digits;
    size_t at = digits.size();
    uint64_t rest = number < 0 ? 0 - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
    do {
      digits[--at] = static_cast<char>('0' + rest % 10);
      rest /= 10;
    } while (rest > 0);
    if (number < 0) digits[--at] = '-';
    Add(std::string_view(digits.data() + at, digits.size() - at));
  }
  std::string_view text() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 512> bytes_;
  size_t size_ = 0;
};

// VmData of /proc/self/status in KiB, which RLIMIT_DATA limits; 0 when it cannot be read.
int64_t DataKib() {
  std::array<char, 4096> bytes;
  const int fd = ::open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t n = fd < 0 ? 0 : ::read(fd, bytes.data(), bytes.size());
  if (fd >= 0) ::close(fd);
  const std::string_view status(bytes.data(), n > 0 ? static_cast<size_t>(n) : 0);
  const size_t at = status.find("VmData:");
  if (at == std::string_view::npos) return 0;
  int64_t kib = 0;
  for (const char c : status.substr(at + 7)) {
    if (c == '\n') break;
    if (c >= '0' && c <= '9') kib = kib * 10 + (c - '0');
  }
  return kib;
}

void OnFatal(int signal, siginfo_t* info, void*) {
  Text json;
  json.Add(R"({"ok":false,"last_words":true,"signal":)");
  json.Add(int64_t{signal});
  json.Add(R"(,"code":)");
  json.Add(int64_t{info->si_code});
  json.Add(R"(,"address":)");
  json.Add(signal == SIGABRT ? int64_t{0} : reinterpret_cast<int64_t>(info->si_addr));
  json.Add(R"(,"data_kib":)");
  json.Add(DataKib());
  json.Add("}");
  const auto length = static_cast<uint32_t>(json.text().size());
  std::array<char, sizeof length> prefix;
  std::memcpy(prefix.data(), &length, sizeof length);
  Text frame;
  frame.Add(std::string_view(prefix.data(), prefix.size()));
  frame.Add(json.text());
  (void)!::send(report_socket, frame.text().data(), frame.text().size(),
                MSG_NOSIGNAL | MSG_DONTWAIT);
  // The handler was reset on entry: the signal now kills, and the judge sees by which it died.
  ::raise(signal);
}

}  // namespace

void ReportCrashesTo(int socket) {
  report_socket = socket;
  void* const stack = ::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  CHECK(stack != MAP_FAILED);
  const stack_t alternate = {.ss_sp = stack, .ss_flags = 0, .ss_size = kStackBytes};
  CHECK(::sigaltstack(&alternate, nullptr) == 0);
  struct sigaction action{};
  action.sa_sigaction = OnFatal;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER);
  for (const int signal : kFatal) CHECK(::sigaction(signal, &action, nullptr) == 0);
}

}  // namespace roofmark::worker
