// SPDX-License-Identifier: Apache-2.0
#include "worker/init_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "worker/landlock.h"
#include "worker/launcher.h"
#include "worker/native_worker.h"
#include "worker/sandbox_limits.h"
#include "worker/sandbox_tree.h"

namespace roofmark::worker {
namespace {

std::unexpected<Error> Refused(std::string_view what) {
  return Fail(ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

void Report(Channel& channel, const Result<std::string>& level) {
  Json reply = Json::MakeObject().Set("ok", level.has_value());
  if (level) {
    reply.Set("level", *level);
  } else {
    reply.Set("reason", level.error().message());
  }
  (void)channel.Send(reply, {}, After(5));
}

std::string LevelOf(const SandboxSpec& spec, const std::string& landlock) {
  std::string level;
  switch (spec.isolation) {
    case Isolation::kUserNamespace:
      level = "user, mount, pid, net, ipc and uts namespaces";
      break;
    case Isolation::kNamespaces:
      level = "mount, pid, net, ipc and uts namespaces, no user namespace";
      break;
    case Isolation::kNone:
      level = "no namespaces: other processes, and files that anybody may read, are not hidden";
      break;
  }
  level += ", seccomp, no new privileges, ";
  level += landlock.empty() ? "no Landlock" : landlock;
  level += spec.data_bytes > 0 ? ", memory limit" : ", memory watched";
  return level;
}

Result<std::string> Confine(const SandboxSpec& spec) {
  ::setsid();
  if (::chdir(spec.folder.c_str()) != 0) return Refused("entering " + spec.folder);
  ::clearenv();
  for (const std::string& variable : spec.environment) {
    const size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  TRY(LimitResources(spec));
  TRY(DropPrivileges(spec));
  const std::string landlock = TRY(EnterLandlock(spec));
  TRY(FilterSystemCalls(spec));
  return LevelOf(spec, landlock);
}

// Moves the socket to a number that a candidate does not hit by closing or writing to low ones.
Fd MoveSocket(Fd socket) {
  Random random(static_cast<uint64_t>(RandomSeed()));
  const int wanted = 200 + static_cast<int>(random.Below(800));
  const int moved = ::fcntl(socket.get(), F_DUPFD_CLOEXEC, wanted);
  return moved >= 0 ? Fd(moved) : std::move(socket);
}

[[noreturn]] void Execute(const SandboxSpec& spec, Fd socket) {
  std::vector<std::string> words = spec.argv;
  for (std::string& word : words) {
    if (word != kSocketPlaceholder) continue;
    ::fcntl(socket.get(), F_SETFD, 0);
    word = std::to_string(socket.get());
  }
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  std::fprintf(stderr, "cannot start %s: %s\n", argv[0], std::strerror(errno));
  ::_exit(127);
}

[[noreturn]] void RunUntrusted(const SandboxSpec& spec, Channel& channel) {
  const Result<std::string> level = Confine(spec);
  Report(channel, level);
  if (!level) ::_exit(1);
  Fd socket = MoveSocket(channel.TakeSocket());
  if (!spec.argv.empty()) Execute(spec, std::move(socket));
  ::_exit(NativeWorkerMain(Channel(std::move(socket)), spec.device));
}

[[noreturn]] void RunInit(const SandboxSpec& spec, Channel& channel, int sync) {
  // Dies with the launcher. The byte each way rules out that the launcher died before this took
  // effect.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  char byte = 'a';
  if (::write(sync, &byte, 1) != 1 || ::read(sync, &byte, 1) != 1) ::_exit(1);
  ::close(sync);
  ::close(kLauncherLeash);
  if (spec.isolation != Isolation::kNone) {
    ::sethostname("sandbox", 7);
    if (const Result<void> entered = EnterTree(spec.tree); !entered) {
      Report(channel, std::unexpected(entered.error()));
      ::_exit(1);
    }
  }
  const pid_t worker = ::fork();
  if (worker == 0) RunUntrusted(spec, channel);
  if (worker < 0) Report(channel, Refused("fork"));
  channel.TakeSocket().reset();
  ::prctl(PR_SET_DUMPABLE, 0);  // nothing inside may look into this process
  int status = 1 << 8;
  pid_t ended = 0;
  while (ended != worker) {
    ended = ::waitpid(-1, &status, 0);
    if (ended < 0 && errno != EINTR) break;
  }
  ::_exit(ExitCode(status));
}

}  // namespace

int ExitCode(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

Result<pid_t> StartInit(const SandboxSpec& spec, Channel& channel) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Refused("socketpair");
  }
  const Fd ours(ends[0]);
  Fd theirs(ends[1]);
  const pid_t init = ::fork();
  if (init < 0) return Refused("fork");
  if (init == 0) {
    ::close(ours.get());
    RunInit(spec, channel, theirs.get());
  }
  theirs.reset();
  char byte = 0;
  if (::read(ours.get(), &byte, 1) != 1 || ::write(ours.get(), &byte, 1) != 1) {
    return Refused("waiting for the init process");
  }
  return init;
}

}  // namespace roofmark::worker
