// SPDX-License-Identifier: Apache-2.0
#include "worker/namespaces.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <sstream>
#include <string>

#include "base/files.h"
#include "base/owned.h"
#include "worker/sandbox_limits.h"

namespace roofmark::worker {
namespace {

std::unexpected<Error> Refused(std::string_view what) {
  return Fail(ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

// The kernel takes a map in one write.
bool WriteOnce(const std::string& path, std::string_view text) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return fd.valid() &&
         ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// Each id that exists in this user namespace, mapped to itself.
Result<std::string> IdentityMap(const char* path) {
  std::istringstream lines(TRY(ReadFile(path)));
  std::string map;
  uint64_t inside = 0;
  uint64_t outside = 0;
  uint64_t count = 0;
  while (lines >> inside >> outside >> count)
    map += fmt::format("{} {} {}\n", inside, inside, count);
  return map;
}

// Only a process that is still outside may map more than one id, so a child stays behind and does.
Result<void> UnshareAsRoot(int flags) {
  const std::string users = TRY(IdentityMap("/proc/self/uid_map"));
  const std::string groups = TRY(IdentityMap("/proc/self/gid_map"));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return Refused("pipe");
  const Fd entered(ends[0]);
  Fd enter(ends[1]);
  const std::string self = fmt::format("/proc/{}/", ::getpid());
  const pid_t mapper = ::fork();
  if (mapper < 0) return Refused("fork");
  if (mapper == 0) {
    enter.reset();
    char byte;
    const bool told = ::read(entered.get(), &byte, 1) == 1;
    ::_exit(told && WriteOnce(self + "uid_map", users) && WriteOnce(self + "gid_map", groups) ? 0
                                                                                              : 1);
  }
  const bool unshared = ::unshare(flags) == 0;
  const int code = errno;
  if (unshared) (void)!::write(enter.get(), "x", 1);
  enter.reset();
  int status = 0;
  while (::waitpid(mapper, &status, 0) < 0 && errno == EINTR) {
  }
  errno = code;
  if (!unshared) return Refused("unshare with a user namespace");
  if (status != 0) return Fail(ErrorKind::kIo, "cannot map users into a new namespace");
  return {};
}

Result<void> UnshareAsUser(int flags) {
  const uid_t user = ::geteuid();
  const gid_t group = ::getegid();
  if (::unshare(flags) != 0) return Refused("unshare with a user namespace");
  if (!WriteOnce("/proc/self/setgroups", "deny") ||
      !WriteOnce("/proc/self/uid_map", fmt::format("{} {} 1", kNobody, user)) ||
      !WriteOnce("/proc/self/gid_map", fmt::format("{} {} 1", kNobody, group))) {
    return Refused("mapping this user into a new namespace");
  }
  return {};
}

}  // namespace

Result<void> EnterNamespaces(Isolation isolation) {
  constexpr int kFlags = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
  switch (isolation) {
    case Isolation::kNone:
      return {};
    case Isolation::kNamespaces:
      if (::unshare(kFlags) != 0) return Refused("unshare");
      return {};
    case Isolation::kUserNamespace:
      break;
  }
  return ::geteuid() == 0 ? UnshareAsRoot(kFlags | CLONE_NEWUSER)
                          : UnshareAsUser(kFlags | CLONE_NEWUSER);
}

Result<void> BringUpLoopback() {
  const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Refused("a socket for the loopback interface");
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0) return Refused("loopback interface");
  return {};
}

}  // namespace roofmark::worker
