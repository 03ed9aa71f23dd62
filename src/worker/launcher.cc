// SPDX-License-Identifier: Apache-2.0
#include "worker/launcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "worker/channel.h"
#include "worker/init_process.h"
#include "worker/namespaces.h"

namespace roofmark::worker {
namespace {

constexpr double kSpecTimeoutS = 30;

Result<SandboxSpec> ReadSpec(Channel& channel) {
  auto message = channel.Receive(After(kSpecTimeoutS));
  if (!message) return Fail(ErrorKind::kIo, "no specification: " + message.error().detail);
  return SandboxSpecFromJson(message->json);
}

// Kills every process of a user that only one sandbox has. The kernel goes through all of them with
// its list of processes locked, so not even a fork bomb gets away.
void KillUser(uint32_t user) {
  const pid_t killer = ::fork();
  if (killer == 0) {
    if (::setresuid(user, user, user) == 0) ::kill(-1, SIGKILL);
    ::_exit(0);
  }
  while (killer > 0 && ::waitpid(killer, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Kills what is left where no pid namespace does: orphans come to this process.
void KillOrphans(const SandboxSpec& spec) {
  const std::string children = fmt::format("/proc/self/task/{}/children", ::getpid());
  while (true) {
    if (::geteuid() == 0) KillUser(spec.user);
    const Result<std::string> list = ReadFile(children);
    bool any = false;
    for (const std::string_view word : Split(list ? std::string_view(*list) : "", ' ')) {
      const Result<int64_t> child = ParseInt(word);
      if (!child) continue;
      any = true;
      ::kill(static_cast<pid_t>(*child), SIGKILL);
      ::waitpid(static_cast<pid_t>(*child), nullptr, 0);
    }
    if (!any) return;
  }
}

// Waits for the init process, or kills it when the judge lets go of the leash. Its death takes
// everything in its pid namespace along, and waiting for it waits for all of them.
int GuardInit(pid_t init) {
  const Fd init_fd(static_cast<int>(::syscall(SYS_pidfd_open, init, 0)));
  // Without pidfd_open (before Linux 5.3) the exit is looked for every few milliseconds.
  const int patience_ms = init_fd.valid() ? -1 : 5;
  while (true) {
    int status = 0;
    if (::waitpid(init, &status, WNOHANG) == init) return ExitCode(status);
    std::array<pollfd, 2> polls = {{{kLauncherLeash, POLLIN, 0}, {init_fd.get(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), patience_ms) < 0 && errno != EINTR) return 1;
    if (polls[0].revents != 0) ::kill(init, SIGKILL);
    if (polls[0].revents != 0) {
      while (::waitpid(init, &status, 0) < 0 && errno == EINTR) {
      }
      return ExitCode(status);
    }
  }
}

Result<int> Launch(Channel& channel) {
  const SandboxSpec spec = TRY(ReadSpec(channel));
  TRY(EnterNamespaces(spec.isolation));
  if (spec.loopback && spec.isolation != Isolation::kNone) TRY(BringUpLoopback());
  const bool reaps = spec.isolation == Isolation::kNone;
  if (reaps) ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t init = TRY(StartInit(spec, channel));
  channel.TakeSocket().reset();
  const int code = GuardInit(init);
  if (reaps) KillOrphans(spec);
  return code;
}

}  // namespace

std::optional<int> MaybeRunWorker(int argc, char** argv) {
  if (argc != 2 || std::string_view(argv[1]) != "worker") return std::nullopt;
  Channel channel{Fd(kLauncherSocket)};
  const Result<int> code = Launch(channel);
  if (code) return *code;
  const Json reply = Json::MakeObject().Set("ok", false).Set("reason", code.error().message());
  if (channel.fd() >= 0) (void)channel.Send(reply, {}, After(1));
  return 1;
}

}  // namespace roofmark::worker
