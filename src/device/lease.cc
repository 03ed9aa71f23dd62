// SPDX-License-Identifier: Apache-2.0
#include "device/lease.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "base/text.h"

namespace roofmark::device {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(20);

// The first of the usual places where this user may write; all judges of a user find the same one.
fs::path LockFolder() {
  const char* const runtime = std::getenv("XDG_RUNTIME_DIR");
  for (const fs::path& folder :
       {fs::path("/run/lock"), fs::path(runtime == nullptr ? "" : runtime)}) {
    if (!folder.empty() && ::access(folder.c_str(), W_OK | X_OK) == 0) return folder;
  }
  return "/tmp";
}

std::string HolderOf(int file) {
  std::array<char, 32> text{};
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  const std::string pid(Trim(std::string_view(text.data(), size > 0 ? size : 0)));
  return pid.empty() ? "another process" : "process " + pid;
}

void SignWith(int file, pid_t pid) {
  const std::string text = fmt::format("{}\n", pid);
  if (::ftruncate(file, 0) == 0) (void)!::pwrite(file, text.data(), text.size(), 0);
}

}  // namespace

Result<Lease> Lease::TakeIn(const fs::path& folder, const DeviceInfo& device,
                            const std::function<void(const std::string&)>& waiting,
                            double patience_s) {
  const std::string key = device.uuid.empty() ? std::string("cpu") : device.uuid;
  const fs::path path = folder / ("roofmark-" + key + ".lock");
  // Everybody's: judges of several users share a device, too. The file holds nothing but a number,
  // and is never followed through a link.
  Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!file.valid()) {
    return Fail(ErrorKind::kIo,
                fmt::format("{}: cannot open the lock of {}: {}; remove the file, or make it "
                            "writable for this user",
                            path.string(), device.name, std::strerror(errno)));
  }
  (void)::fchmod(file.get(), 0666);
  const Clock::time_point begin = Clock::now();
  bool told = false;
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      return Fail(ErrorKind::kIo, fmt::format("{}: {}", path.string(), std::strerror(errno)));
    }
    if (!told && std::chrono::duration<double>(Clock::now() - begin).count() >= patience_s) {
      told = true;
      if (waiting) waiting(HolderOf(file.get()));
    }
    std::this_thread::sleep_for(kLook);
  }
  SignWith(file.get(), ::getpid());
  return Lease(std::move(file));
}

Result<Lease> Lease::Take(const DeviceInfo& device,
                          const std::function<void(const std::string&)>& waiting,
                          double patience_s) {
  return TakeIn(LockFolder(), device, waiting, patience_s);
}

}  // namespace roofmark::device
