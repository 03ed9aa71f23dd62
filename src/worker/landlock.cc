// SPDX-License-Identifier: Apache-2.0
#include "worker/landlock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/owned.h"

namespace roofmark::worker {
namespace {

// From linux/landlock.h of Linux 6.12. The headers of Debian 12 end at the second version, and a
// running kernel says itself which of these it knows.
constexpr long kCreateRuleset = 444;
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;
constexpr unsigned kAskVersion = 1;
constexpr int kPathBeneath = 1;

constexpr uint64_t kExecute = 1U << 0;
constexpr uint64_t kWriteFile = 1U << 1;
constexpr uint64_t kReadFile = 1U << 2;
constexpr uint64_t kReadFolder = 1U << 3;
constexpr uint64_t kAllOfFirst = (1U << 13) - 1;
constexpr uint64_t kRefer = 1U << 13;     // since version 2
constexpr uint64_t kTruncate = 1U << 14;  // since version 3
constexpr uint64_t kTcp = 3;              // bind and connect; since version 4
constexpr uint64_t kScopes = 3;           // abstract sockets and signals; since version 6

struct Ruleset {
  uint64_t files;
  uint64_t network;
  uint64_t scopes;
};

struct [[gnu::packed]] PathRule {
  uint64_t allowed;
  int32_t parent;
};

constexpr uint64_t kReading = kExecute | kReadFile | kReadFolder;

std::unexpected<Error> Refused(std::string_view what) {
  return Fail(ErrorKind::kIo, fmt::format("Landlock, {}: {}", what, std::strerror(errno)));
}

// Paths that cannot be opened here cannot be used either, so they need no rule.
Result<void> Allow(int ruleset, const std::string& path, uint64_t rights) {
  const Fd fd(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat info{};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return {};
  if (!S_ISDIR(info.st_mode)) rights &= kExecute | kWriteFile | kReadFile | kTruncate;
  const PathRule rule{.allowed = rights, .parent = fd.get()};
  if (::syscall(kAddRule, ruleset, kPathBeneath, &rule, 0) != 0) return Refused(path);
  return {};
}

Result<void> AllowTree(int ruleset, const SandboxSpec& spec, uint64_t everything) {
  const bool mounted = spec.isolation != Isolation::kNone;
  if (mounted) TRY(Allow(ruleset, "/", kReading));
  TRY(Allow(ruleset, "/proc", mounted ? everything : kReading));
  for (const TreeEntry& entry : spec.tree) {
    const std::string& path = mounted ? entry.target : entry.source;
    switch (entry.step) {
      case TreeStep::kReadOnly:
      case TreeStep::kCopy:
      case TreeStep::kText:
        if (!path.empty()) TRY(Allow(ruleset, path, kReading));
        break;
      case TreeStep::kReadWrite:
      case TreeStep::kEmpty:
      case TreeStep::kDevice:
        if (!path.empty()) TRY(Allow(ruleset, path, everything));
        break;
      case TreeStep::kLink:
      case TreeStep::kHidden:
        break;
    }
  }
  return {};
}

}  // namespace

Result<std::string> EnterLandlock(const SandboxSpec& spec) {
  const long version = ::syscall(kCreateRuleset, nullptr, 0, kAskVersion);
  // The first version forbids moving files between folders altogether, which compilers do.
  if (version < 2) return std::string();
  const uint64_t files = kAllOfFirst | kRefer | (version >= 3 ? kTruncate : 0);
  const Ruleset rights{.files = files,
                       .network = version >= 4 && !spec.loopback ? kTcp : 0,
                       .scopes = version >= 6 ? kScopes : 0};
  const size_t size = version >= 6 ? 24 : version >= 4 ? 16 : 8;
  const Fd ruleset(static_cast<int>(::syscall(kCreateRuleset, &rights, size, 0)));
  if (!ruleset.valid()) return Refused("making a ruleset");
  TRY(AllowTree(ruleset.get(), spec, files));
  if (::syscall(kRestrictSelf, ruleset.get(), 0) != 0) return Refused("entering it");
  return version >= 6 ? "Landlock" : "Landlock (files only)";
}

}  // namespace roofmark::worker
