// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ranges>

#include "base/hash.h"
#include "worker/init_process.h"
#include "worker/launcher.h"
#include "worker/sandbox_tree.h"

namespace roofmark::worker {
namespace {

constexpr double kReportTimeoutS = 30;

// What was found to work on this machine; a process asks only once.
std::atomic<Isolation> best_isolation = Isolation::kUserNamespace;

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> MakePipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("cannot make a pipe: {}", std::strerror(errno)));
  }
  return Pipe{.read = Fd(ends[0]), .write = Fd(ends[1])};
}

// Set for the launcher. A main() that forgets MaybeRunWorker would otherwise start itself for ever.
constexpr const char* kMarker = "ROOFMARK_IN_WORKER";

// What the dynamic loader and the sanitizers of this binary itself need; nothing else of the
// judge's environment goes along. And of the candidate's what an OpenMP runtime reads as it is
// loaded: this binary's libraries bring one, and a native candidate will share it.
std::vector<std::string> LauncherEnvironment(const SandboxSpec& spec) {
  std::vector<std::string> environment = {std::string(kMarker) + "=1"};
  for (const char* name :
       {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name))
      environment.push_back(fmt::format("{}={}", name, value));
  }
  const auto threads = std::ranges::find_if(
      spec.environment | std::views::reverse,
      [](const std::string& variable) { return variable.starts_with("OMP_NUM_THREADS="); });
  if (threads != spec.environment.rend()) environment.push_back(*threads);
  return environment;
}

// In the child of a possibly threaded process: only async-signal-safe calls until the exec. Sources
// are first moved out of the way of the targets.
[[noreturn]] void ExecLauncher(int null, int log, int socket, int leash, char** environment) {
  std::array<int, 4> from = {null, log, socket, leash};
  for (int& fd : from) {
    fd = ::fcntl(fd, F_DUPFD, 64);
    if (fd < 0) ::_exit(126);
  }
  ::dup2(from[0], 0);
  ::dup2(from[1], 1);
  ::dup2(from[1], 2);
  ::dup2(from[2], kLauncherSocket);
  ::dup2(from[3], kLauncherLeash);
  ::close_range(kLauncherLeash + 1, ~0U, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  char name[] = "roofmark";
  char verb[] = "worker";
  std::array<char*, 3> argv = {name, verb, nullptr};
  ::execve("/proc/self/exe", argv.data(), environment);
  ::_exit(127);
}

bool LiesIn(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

// By the most specific entry: /tmp may be lent, and a folder below it shown where it is.
std::string OutsidePath(const std::vector<TreeEntry>& tree, std::string_view path) {
  const TreeEntry* best = nullptr;
  for (const TreeEntry& entry : tree) {
    if (entry.source.empty() || !LiesIn(path, entry.target)) continue;
    if (best == nullptr || entry.target.size() > best->target.size()) best = &entry;
  }
  if (best == nullptr) return std::string(path);
  return best->source + std::string(path.substr(best->target.size()));
}

// Replaces paths in arguments (behind an option such as -I, too) and in variables.
void ReplacePaths(SandboxSpec* spec) {
  for (std::string& word : spec->argv) {
    const size_t start = word.starts_with('-') ? word.find('/') : 0;
    if (start == std::string::npos) continue;
    word = word.substr(0, start) + OutsidePath(spec->tree, std::string_view(word).substr(start));
  }
  for (std::string& variable : spec->environment) {
    const size_t value = variable.find('=') + 1;
    if (variable.starts_with("PATH=")) continue;
    variable = variable.substr(0, value) +
               OutsidePath(spec->tree, std::string_view(variable).substr(value));
  }
  spec->folder = OutsidePath(spec->tree, spec->folder);
}

// Root's sandboxed processes become another user, so the folders that they may write belong to it.
void GiveWritable(const SandboxSpec& spec) {
  if (::geteuid() != 0) return;
  for (const TreeEntry& entry : spec.tree) {
    if (entry.step == TreeStep::kReadWrite) {
      (void)!::chown(entry.source.c_str(), spec.user, spec.user);
    }
  }
}

// Lets another user walk to what is lent, through temporary folders of ours.
void OpenWay(const fs::path& path) {
  std::error_code error;
  const fs::path top = fs::temp_directory_path(error);
  for (fs::path folder = path.parent_path(); LiesIn(folder.native(), top.native()) && folder != top;
       folder = folder.parent_path()) {
    fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add, error);
  }
}

// Where there are no mounts: makes below `folder` what would only exist inside, and lets each entry
// say where it is outside.
Result<void> Stage(const fs::path& folder, uint32_t user, std::vector<TreeEntry>* tree) {
  std::error_code error;
  fs::permissions(folder, fs::perms::others_exec, fs::perm_options::add, error);
  const bool is_root = ::geteuid() == 0;
  for (TreeEntry& entry : *tree) {
    const std::string staged = folder.string() + entry.target;
    const bool lent = entry.target == "/candidate" || entry.target == "/include";
    if (entry.step == TreeStep::kText) {
      entry.source = staged;
      TRY(WriteFile(staged, entry.text));
    } else if (entry.step == TreeStep::kEmpty) {
      entry.source = staged;
      fs::create_directories(staged, error);
      if (is_root) (void)!::chown(staged.c_str(), user, user);
    } else if (entry.step == TreeStep::kCopy || (is_root && lent)) {
      fs::create_directories(fs::path(staged).parent_path(), error);
      fs::copy(entry.source, staged, kCopyContents, error);
      if (error) return Fail(ErrorKind::kIo, "copying " + entry.source + ": " + error.message());
      entry.source = staged;
    } else if (is_root && entry.step == TreeStep::kReadWrite) {
      OpenWay(entry.source);
    }
  }
  // Folders on the way to the files were made with the umask of whoever runs this.
  return LetEverybodyRead(folder);
}

// Users that systems hand out for a short time (systemd's dynamic users, systemd.exec(5)), another
// for each sandbox of this process and, as far as chance goes, of others.
uint32_t ShortLivedUser() {
  constexpr uint32_t kFirst = 61184;
  constexpr uint32_t kLast = 65519;
  static std::atomic<uint32_t> next = static_cast<uint32_t>(RandomSeed() & 0xffff);
  return kFirst + next++ % (kLast - kFirst + 1);
}

}  // namespace

std::string Sandbox::InsidePath(std::string_view path) const {
  return OutsidePath(unmounted_, path);
}

Result<std::unique_ptr<Sandbox>> Sandbox::Spawn(const SandboxSpec& spec) {
  ChannelPair pair = TRY(MakeChannelPair());
  Pipe log = TRY(MakePipe());
  Pipe leash = TRY(MakePipe());
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  std::vector<std::string> variables = LauncherEnvironment(spec);
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  Cgroup cgroup = Cgroup::Make(spec);
  const pid_t launcher = ::fork();
  if (launcher < 0) {
    return Fail(ErrorKind::kDevice, fmt::format("cannot fork: {}", std::strerror(errno)));
  }
  if (launcher == 0) {
    cgroup.Enter();
    ExecLauncher(null.get(), log.write.get(), pair.worker.get(), leash.read.get(),
                 environment.data());
  }
  std::unique_ptr<Sandbox> sandbox(new Sandbox(Channel(std::move(pair.judge)), launcher,
                                               std::move(leash.write), std::move(log.read),
                                               std::move(cgroup)));
  pair.worker.reset();
  log.write.reset();
  leash.read.reset();
  if (!sandbox->channel_.Send(SandboxSpecToJson(spec), {}, After(kReportTimeoutS))) {
    return Fail(ErrorKind::kDevice, "a new process of this binary does not read its socket");
  }
  return sandbox;
}

Result<void> Sandbox::AwaitReport() {
  auto report = channel_.Receive(After(kReportTimeoutS));
  if (!report) {
    Kill();
    return Fail(ErrorKind::kDevice,
                fmt::format("the sandbox did not start ({}): {}", report.error().detail, Log()));
  }
  if (!TRY(report->json.Bool("ok"))) {
    return Fail(ErrorKind::kDevice, TRY(report->json.String("reason")));
  }
  level_ = TRY(report->json.String("level"));
  if (const std::string cgroup = cgroup_.Describe(); !cgroup.empty()) level_ += ", " + cgroup;
  pid_ = report->sender;
  return {};
}

Result<std::unique_ptr<Sandbox>> Sandbox::Start(SandboxSpec spec) {
  if (std::getenv(kMarker) != nullptr) {
    return Fail(ErrorKind::kDevice, "main() of this binary does not call MaybeRunWorker first");
  }
  std::string refusals;
  for (const Isolation isolation : {Isolation::kUserNamespace, Isolation::kNamespaces}) {
    if (isolation < best_isolation.load()) continue;
    if (isolation == Isolation::kNamespaces && ::geteuid() != 0) continue;
    spec.isolation = isolation;
    GiveWritable(spec);
    std::unique_ptr<Sandbox> sandbox = TRY(Spawn(spec));
    const Result<void> report = sandbox->AwaitReport();
    if (report) {
      best_isolation = isolation;
      return sandbox;
    }
    refusals += (refusals.empty() ? "" : "; ") + report.error().message();
  }
  auto sandbox = StartUnmounted(std::move(spec));
  if (!sandbox) return std::unexpected(sandbox.error().Context(refusals));
  best_isolation = Isolation::kNone;
  if (!refusals.empty()) (*sandbox)->level_ += " (" + refusals + ")";
  return sandbox;
}

// The last resort: no namespace. Another user holds what root starts; for others Landlock, limits
// and the system-call filter have to do, and the verdict's level says so.
Result<std::unique_ptr<Sandbox>> Sandbox::StartUnmounted(SandboxSpec spec) {
  spec.isolation = Isolation::kNone;
  if (::geteuid() == 0) spec.user = ShortLivedUser();
  GiveWritable(spec);
  TempDir staged = TRY(TempDir::Make("roofmark-staged"));
  TRY(Stage(staged.path(), spec.user, &spec.tree));
  ReplacePaths(&spec);
  // Nothing else keeps a process of the same user from this one's memory.
  ::prctl(PR_SET_DUMPABLE, 0);
  std::unique_ptr<Sandbox> sandbox = TRY(Spawn(spec));
  TRY_IN(
      sandbox->AwaitReport(),
      "this machine permits no namespaces, and without them a candidate cannot be held here; run "
      "roofmark as an ordinary user, or where user namespaces are allowed (roofmark doctor)");
  sandbox->unmounted_ = std::move(spec.tree);
  sandbox->staged_.emplace(std::move(staged));
  return sandbox;
}

Sandbox::~Sandbox() {
  Kill();
}

std::optional<int> Sandbox::Exited() {
  if (exit_code_) return exit_code_;
  int status = 0;
  const pid_t gone = ::waitpid(launcher_, &status, WNOHANG);
  if (gone == launcher_) exit_code_ = ExitCode(status);
  if (gone < 0 && errno == ECHILD) exit_code_ = 128 + SIGKILL;  // somebody else reaped it
  return exit_code_;
}

std::string Sandbox::Log() {
  // What a process prints last is in the pipe when it is gone, and may not have been read yet.
  if (exit_code_) log_.Finish();
  return log_.Text();
}

std::optional<int> Sandbox::WaitForExit(Deadline deadline) {
  while (!Exited() && std::chrono::steady_clock::now() < deadline) {
    ::usleep(500);
  }
  return Exited();
}

void Sandbox::Kill() {
  if (Exited()) return;
  leash_.reset();
  if (WaitForExit(After(10))) return;
  // The launcher itself is stuck; its death still kills the init process.
  ::kill(launcher_, SIGKILL);
  (void)WaitForExit(After(10));
}

Isolation BestIsolation() {
  return best_isolation.load();
}

void SetBestIsolation(Isolation isolation) {
  best_isolation = isolation;
}

}  // namespace roofmark::worker
