// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "base/testing.h"
#include "base/text.h"
#include "worker/test_bed.h"

namespace roofmark::worker {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Counts in out[k] whether attempt k to leave the sandbox worked.
constexpr std::string_view kAttempts = R"(
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
static float Opens(const char* path, int flags) { return open(path, flags) >= 0; }
int run(const scale_args* args, void*, void*) {
  float* out = static_cast<float*>(args->out.data);
  memset(out, 0, sizeof(float) * args->n);
  int k = 0;
  const pid_t parent = getppid();
  char path[64];
  out[k++] = ptrace(PTRACE_ATTACH, parent, 0, 0) == 0;
  kill(parent, SIGKILL);
  usleep(1000);
  out[k++] = kill(parent, 0) != 0 && errno == ESRCH;
  snprintf(path, sizeof path, "/proc/%d/mem", parent);
  out[k++] = Opens(path, O_RDONLY);
  snprintf(path, sizeof path, "/proc/%d/mem", JUDGE_PID);
  out[k++] = Opens(path, O_RDONLY);
  out[k++] = kill(JUDGE_PID, 0) == 0;
  out[k++] = Opens(JUDGE_FILE, O_RDONLY);
  out[k++] = Opens("/etc/shadow", O_RDONLY);
  out[k++] = Opens("/root", O_RDONLY);
  out[k++] = Opens("/candidate/new", O_CREAT | O_WRONLY);
  out[k++] = Opens("/usr/new", O_CREAT | O_WRONLY);
  out[k++] = Opens("/new", O_CREAT | O_WRONLY);
  out[k++] = Opens("/proc/sys/kernel/core_pattern", O_WRONLY);
  out[k++] = setuid(0) == 0;
  out[k++] = unshare(CLONE_NEWUSER) == 0;
  out[k++] = mount("none", "/tmp", "tmpfs", 0, nullptr) == 0;
  out[k++] = syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) >= 0 || errno != 1;
  char byte;
  iovec local = {&byte, 1}, remote = {&byte, 1};
  out[k++] = process_vm_readv(parent, &local, 1, &remote, 1, 0) >= 0;
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(80);
  inet_pton(AF_INET, "127.0.0.1", &to.sin_addr);
  int s = socket(AF_INET, SOCK_STREAM, 0);
  // Without a network the answer is "unreachable", not "refused".
  out[k++] = connect(s, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0 || errno == ECONNREFUSED;
  out[k] = -1;
  return 0;
}
)";

// What follows from namespaces cannot be shown where the machine permits none.
#define SKIP_WITHOUT_NAMESPACES(worker)                                         \
  if ((worker).level().starts_with("no namespaces")) {                          \
    GTEST_SKIP() << "this machine permits no namespaces: " << (worker).level(); \
  }

TEST(Sandbox, NoAttemptToLeaveItWorks) {
  const TempDir built =
      TestBed::Compile(fmt::format("#include <errno.h>\n#define JUDGE_PID {}\n"
                                   "#define JUDGE_FILE \"{}\"\n{}",
                                   ::getpid(), __FILE__, kAttempts));
  TestBed bed = TestBed::Native(built.path());
  const Mishap fate = bed.Fate();
  ASSERT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  SKIP_WITHOUT_NAMESPACES(bed.worker());
  int attempt = 0;
  for (; bed.out_values()[attempt] != -1; ++attempt) {
    EXPECT_EQ(bed.out_values()[attempt], 0) << "attempt " << attempt;
  }
  EXPECT_EQ(attempt, 18);
}

TEST(Sandbox, ChildrenThatOutliveTheirWorkerAreKilled) {
  const TempDir built = TestBed::Compile(R"(
#include <unistd.h>
int run(const scale_args* args, void*, void*) {
  volatile float* alive = static_cast<float*>(args->out.data);
  *alive = 0;
  if (fork() == 0) {
    setsid();
    if (fork() != 0) _exit(0);
    for (;;) { *alive = *alive + 1; usleep(1000); }
  }
  while (*alive == 0) usleep(1000);
  return 0;
}
)");
  TestBed bed = TestBed::Native(built.path());
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  const volatile float& alive = *bed.out_values();
  EXPECT_GT(alive, 0);
  bed.StopWorker();
  const float at_last = alive;
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(alive, at_last);
}

// What a candidate may write is memory of a fixed size, and memory that nothing counts is not to be
// had.
TEST(Sandbox, NeitherDisksNorMemoryCanBeFilled) {
  const TempDir built = TestBed::Compile(R"(
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>
int run(const scale_args* args, void*, void*) {
  static char bytes[1 << 20];
  long written = 0;
  const int fd = open("/scratch/full", O_CREAT | O_WRONLY, 0644);
  while (written < 200 && write(fd, bytes, sizeof bytes) == sizeof bytes) ++written;
  float* out = static_cast<float*>(args->out.data);
  out[0] = static_cast<float>(written);
  out[1] = static_cast<float>(memfd_create("full", 0));
  out[2] = static_cast<float>(shmget(IPC_PRIVATE, 1 << 20, 0600));
  return 0;
}
)");
  TestBed bed = TestBed::Native(built.path());
  bed.spec.memory_bytes = uint64_t{256} << 20;
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  if (BestIsolation() != Isolation::kNone) {
    EXPECT_LE(bed.out_values()[0], 64);
  }
  EXPECT_EQ(bed.out_values()[1], -1);
  EXPECT_EQ(bed.out_values()[2], -1);
}

TEST(Sandbox, AForkBombEndsAtItsLimit) {
  const TempDir built = TestBed::Compile(R"(
#include <unistd.h>
int run(const scale_args*, void*, void*) {
  for (int i = 0; i < 100000; ++i) if (fork() == 0) { pause(); }
  return 3;
}
)");
  TestBed bed = TestBed::Native(built.path());
  const Mishap fate = bed.Fate(20);
  EXPECT_EQ(fate.outcome, Outcome::kRuntimeError) << fate.reason;
}

// Machines forbid namespaces in part or altogether; a worker must run there all the same, and say
// so.
class WeakSandbox : public ::testing::TestWithParam<Isolation> {
 protected:
  void SetUp() override { SetBestIsolation(GetParam()); }
  void TearDown() override { SetBestIsolation(Isolation::kUserNamespace); }
};

TEST_P(WeakSandbox, RunsACandidateAndSaysWhatIsMissing) {
  if (GetParam() == Isolation::kNamespaces && ::geteuid() != 0) {
    GTEST_SKIP() << "namespaces without a user namespace are for root";
  }
  const TempDir built = TestBed::Compile(R"(
int run(const scale_args* args, void*, void*) {
  for (int64_t i = 0; i < args->n; ++i) {
    static_cast<float*>(args->out.data)[i] = 2 * static_cast<const float*>(args->x.data)[i];
  }
  return 0;
}
)");
  TestBed bed = TestBed::Native(built.path());
  const Mishap fate = bed.Fate();
  ASSERT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed.OutIsRight());
  EXPECT_THAT(bed.worker().level(),
              HasSubstr(GetParam() == Isolation::kNone ? "no namespaces" : "no user namespace"));
}

class WithoutNamespaces : public ::testing::Test {
 protected:
  void SetUp() override { SetBestIsolation(Isolation::kNone); }
  void TearDown() override { SetBestIsolation(Isolation::kUserNamespace); }
};

// As many processes of a user as there are in /proc; for root's sandboxes, whose users are theirs.
int ProcessesOf(uid_t user) {
  int count = 0;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    struct stat info{};
    if (ParseInt(entry.path().filename().string()) && ::stat(entry.path().c_str(), &info) == 0 &&
        info.st_uid == user) {
      ++count;
    }
  }
  return count;
}

TEST_F(WithoutNamespaces, AForkBombEndsAtItsLimitAndLeavesNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "an ordinary user's limit counts what else it runs";
  const TempDir built = TestBed::Compile(R"(
#include <unistd.h>
int run(const scale_args* args, void*, void*) {
  static_cast<float*>(args->out.data)[0] = getuid();
  for (int i = 0; i < 100000; ++i) if (fork() == 0) { setsid(); pause(); }
  return 3;
}
)");
  TestBed bed = TestBed::Native(built.path());
  EXPECT_EQ(bed.Fate(60).outcome, Outcome::kRuntimeError);
  const auto user = static_cast<uid_t>(bed.out_values()[0]);
  EXPECT_NE(user, 0U);
  EXPECT_GT(ProcessesOf(user), 100);
  bed.StopWorker();
  EXPECT_EQ(ProcessesOf(user), 0);
}

TEST_F(WithoutNamespaces, AHungWorkerIsKilledWithItsChildren) {
  if (::geteuid() != 0) GTEST_SKIP() << "children are found by their user, which root's have alone";
  const TempDir built = TestBed::Compile(R"(
#include <unistd.h>
int run(const scale_args* args, void*, void*) {
  static_cast<float*>(args->out.data)[0] = getuid();
  if (fork() == 0) { setsid(); if (fork() != 0) _exit(0); for (;;) pause(); }
  for (;;) pause();
}
)");
  TestBed bed = TestBed::Native(built.path());
  EXPECT_EQ(bed.Fate(0.5).outcome, Outcome::kTimedOut);
  const auto user = static_cast<uid_t>(bed.out_values()[0]);
  bed.StopWorker();
  EXPECT_EQ(ProcessesOf(user), 0);
}

TEST_F(WithoutNamespaces, LandlockHidesFilesAndSignalsDoNotGetOut) {
  const TempDir built = TestBed::Compile(fmt::format(R"(
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>
int run(const scale_args* args, void*, void*) {{
  float* out = static_cast<float*>(args->out.data);
  out[0] = open("{}", O_RDONLY) >= 0;
  out[1] = open("/etc/hostname", O_RDONLY) >= 0;
  out[2] = open("/tmp/roofmark-new", O_CREAT | O_WRONLY, 0600) >= 0;
  out[3] = kill({}, 0) == 0;
  out[4] = socket(AF_INET, SOCK_DGRAM, 0) >= 0;
  out[5] = setuid(0) == 0;
  return 0;
}}
)",
                                                     __FILE__, ::getpid()));
  TestBed bed = TestBed::Native(built.path());
  const Mishap fate = bed.Fate();
  ASSERT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  if (!bed.worker().level().ends_with("Landlock") &&
      bed.worker().level().find(" Landlock,") == std::string::npos) {
    GTEST_SKIP() << bed.worker().level();
  }
  const int attempts = ::geteuid() == 0 ? 6 : 5;  // an ordinary user is setuid to itself
  for (int k = 0; k < attempts; ++k) EXPECT_EQ(bed.out_values()[k], 0) << "attempt " << k;
}

INSTANTIATE_TEST_SUITE_P(All, WeakSandbox,
                         ::testing::Values(Isolation::kNamespaces, Isolation::kNone));

class Compile : public ::testing::Test {
 protected:
  Answer<std::string> Run(std::string_view source, double timeout_s = 30) {
    EXPECT_THAT(WriteFile(folder_.path() / "a.cc", source), IsOk());
    auto answer = RunSandboxed({.argv = {"g++", "-std=c++20", "-fconstexpr-ops-limit=1000000000000",
                                         "-fconstexpr-loop-limit=2000000000", "-c",
                                         "/candidate/a.cc", "-o", "/scratch/a.o"},
                                .folder = folder_.path(),
                                .scratch = scratch_.path(),
                                .timeout_s = timeout_s});
    EXPECT_THAT(answer, IsOk());
    return std::move(*answer);
  }
  TempDir folder_ = std::move(TempDir::Make("roofmark-test")).value();
  TempDir scratch_ = std::move(TempDir::Make("roofmark-test")).value();
};

TEST_F(Compile, LeavesItsProductInScratch) {
  EXPECT_TRUE(Run("int f() { return 1; }").has_value());
  EXPECT_TRUE(fs::exists(scratch_.path() / "a.o"));
}

TEST_F(Compile, SaysWhatTheCompilerSays) {
  const auto answer = Run("int f() { return undeclared; }");
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().outcome, Outcome::kCompileError);
  EXPECT_THAT(answer.error().reason, HasSubstr("was not declared in this scope"));
}

TEST_F(Compile, CannotIncludeFilesOfThisMachine) {
  for (const std::string path : {"/etc/shadow", "/etc/hostname", __FILE__}) {
    const auto answer = Run(fmt::format("#include \"{}\"\n", path));
    ASSERT_FALSE(answer.has_value()) << path;
    EXPECT_THAT(answer.error().reason,
                AnyOf(HasSubstr("No such file"), HasSubstr("Permission denied")));
  }
  const auto incbin = Run("asm(\".incbin \\\"/etc/shadow\\\"\");");
  ASSERT_FALSE(incbin.has_value());
  EXPECT_THAT(incbin.error().reason, Not(HasSubstr("root:")));
}

TEST_F(Compile, ABombInConstexprEndsAtTheLimit) {
  const auto answer = Run(
      "constexpr long f() { long n = 0; for (long i = 0; i < 1000000000; ++i) n += i; return n; }\n"
      "static_assert(f() != 0);",
      0.5);
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().outcome, Outcome::kTimedOut);
}

}  // namespace
}  // namespace roofmark::worker
