// SPDX-License-Identifier: Apache-2.0
#include "base/subprocess.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/owned.h"
#include "base/text.h"

namespace roofmark {
namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> fds{};
  if (::pipe2(fds.data(), O_CLOEXEC) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{Fd(fds[0]), Fd(fds[1])};
}

[[noreturn]] void ExecChild(const std::vector<std::string>& argv, const CommandOptions& options,
                            int out, int err, int report) {
  ::setpgid(0, 0);
  const int null = ::open("/dev/null", O_RDONLY);
  ::dup2(null, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(126);
  for (const std::string& variable : options.extra_environment) {
    ::putenv(const_cast<char*>(variable.c_str()));
  }
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  ::execvp(args[0], args.data());
  const int code = errno;
  [[maybe_unused]] const ssize_t n = ::write(report, &code, sizeof code);
  ::_exit(127);
}

// Reads both pipes until they close; returns false when the deadline passes first.
bool Collect(const Pipe& out, const Pipe& err, const CommandOptions& options,
             Clock::time_point deadline, CommandResult* result) {
  std::array<pollfd, 2> polls = {{{out.read.get(), POLLIN, 0}, {err.read.get(), POLLIN, 0}}};
  const std::array<std::string*, 2> sinks = {&result->out, &result->err};
  while (polls[0].fd >= 0 || polls[1].fd >= 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (::poll(polls.data(), polls.size(), static_cast<int>(std::min<int64_t>(left, 1000))) <= 0)
      continue;
    for (size_t i = 0; i < polls.size(); ++i) {
      if (polls[i].revents == 0) continue;
      std::array<char, 65536> buffer;
      const ssize_t n = ::read(polls[i].fd, buffer.data(), buffer.size());
      if (n <= 0) {
        polls[i].fd = -1;
      } else if (sinks[i]->size() < options.max_output) {
        sinks[i]->append(buffer.data(), static_cast<size_t>(n));
      }
    }
  }
  return true;
}

}  // namespace

Result<CommandResult> RunCommand(const std::vector<std::string>& argv,
                                 const CommandOptions& options) {
  Pipe out = TRY(MakePipe());
  Pipe err = TRY(MakePipe());
  Pipe report = TRY(MakePipe());
  const pid_t child = ::fork();
  if (child < 0) return Fail(ErrorKind::kIo, fmt::format("cannot fork: {}", std::strerror(errno)));
  if (child == 0) ExecChild(argv, options, out.write.get(), err.write.get(), report.write.get());
  out.write.reset();
  err.write.reset();
  report.write.reset();

  int exec_error = 0;
  const bool started = ::read(report.read.get(), &exec_error, sizeof exec_error) == 0;
  CommandResult result;
  const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                           std::chrono::duration<double>(options.timeout_s));
  const bool in_time = started && Collect(out, err, options, deadline, &result);
  if (!in_time) ::kill(-child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!started) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("cannot start {}: {}", argv[0], std::strerror(exec_error)));
  }
  if (!in_time) {
    return Fail(ErrorKind::kTimeout,
                fmt::format("{} did not finish within {} s", argv[0], options.timeout_s));
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Result<std::string> LastLineOf(const std::vector<std::string>& argv) {
  const CommandResult result = TRY(RunCommand(argv));
  if (result.exit_code != 0) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{} ended with {}: {}", Join(argv, " "), result.exit_code,
                            Split(Trim(result.err), '\n').back()));
  }
  return std::string(Split(Trim(result.out), '\n').back());
}

Result<std::string> FindProgram(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string_view folder : Split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    const std::filesystem::path candidate = std::filesystem::path(folder) / name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return Fail(ErrorKind::kNotFound, name + " is not on PATH");
}

}  // namespace roofmark
