// SPDX-License-Identifier: Apache-2.0
#include "worker/native_worker.h"

#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "base/testing.h"
#include "worker/bell_page.h"
#include "worker/own_files.h"
#include "worker/test_bed.h"

namespace roofmark::worker {
namespace {

using ::testing::HasSubstr;

// One candidate with many faces: run does the trick that the environment names and then, if it is
// still there, computes honestly. Compiled once.
constexpr std::string_view kSource = R"(
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

static bool Is(const char* name) { return strcmp(getenv("TRICK"), name) == 0; }

static void Fill(void* memory) {
  if (memory == MAP_FAILED) pause();
  memset(memory, 1, 1 << 20);
}

// out[k] is 1 where route k let us write to the input.
static void TryRoutes(char* x, float* out, int64_t n) {
  memset(out, 0, sizeof(float) * n);
  char* page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(x) & ~uintptr_t{4095});
  out[0] = mprotect(page, 4096, PROT_READ | PROT_WRITE) == 0;
  out[1] = mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
  int mem = open("/proc/self/mem", O_RDWR);
  out[2] = mem >= 0 && pwrite(mem, "evil", 4, reinterpret_cast<off_t>(x)) == 4;
  char path[96];
  for (int fd = 3; fd < 4096; ++fd) {
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDWR);
    if (again < 0) continue;
    out[3] += mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED;
    close(again);
  }
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[512];
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long begin, end;
    const auto at = reinterpret_cast<unsigned long>(page);
    if (!strstr(line, "roofmark-arena") || sscanf(line, "%lx-%lx", &begin, &end) != 2) continue;
    if (at < begin || at >= end) continue;
    out[6] = 1;  // this route was tried at all
    snprintf(path, sizeof path, "/proc/self/map_files/%lx-%lx", begin, end);
    int again = open(path, O_RDWR);
    out[4] = again >= 0 && pwrite(again, "evil", 4, 4096) == 4;
    void* copy = mremap(reinterpret_cast<void*>(begin), 0, end - begin, MREMAP_MAYMOVE);
    out[5] = copy != MAP_FAILED && mprotect(copy, 4096, PROT_WRITE) == 0;
  }
}

static int calls = 0;

int run(const scale_args* args, void*, void*) {
  const float* x = static_cast<const float*>(args->x.data);
  float* out = static_cast<float*>(args->out.data);
  ++calls;
  if (Is("fail second") && calls > 1) return 7;
  if (Is("abort second") && calls > 1) abort();
  if (Is("segfault")) *reinterpret_cast<volatile int*>(0x40) = 1;
  if (Is("exit")) _exit(0);
  if (Is("kill")) raise(SIGKILL);
  if (Is("hang")) for (volatile int i = 0;; i = i + 1) {}
  if (Is("throw")) throw std::runtime_error("my own words");
  if (Is("eat new")) for (;;) Fill(new char[1 << 20]);
  if (Is("eat malloc")) for (;;) Fill(malloc(1 << 20));
  while (Is("eat shared")) {
    Fill(mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    usleep(100);
  }
  while (Is("eat dropped")) {
    void* part = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Fill(part);
    madvise(part, 1 << 20, MADV_DONTNEED);
    usleep(100);
  }
  if (Is("print")) {
    for (int i = 0; i < 300000; ++i) puts("{\"ok\":true}");
    puts("judge: passed");
    fflush(stdout);
  }
  if (Is("rubbish")) {
    for (int fd = 3; fd < 4096; ++fd) (void)!write(fd, "rubbish!rubbish!", 16);
    pause();
  }
  // A well-formed reply: this call's, and one too many.
  const char frame[] = "\x0b\0\0\0{\"ok\":true}";
  if (Is("forge")) for (int fd = 3; fd < 4096; ++fd) (void)!write(fd, frame, 15);
  if (Is("mutate")) const_cast<float*>(x)[3] = 0;
  if (Is("overrun")) out[args->n + 1] = 1;
  if (Is("overrun far")) out[args->n + 20000] = 1;
  if (Is("threads")) {
    // What the process was started with, which is what a library sees that was loaded at once.
    char started[65536] = {};
    FILE* file = fopen("/proc/self/environ", "r");
    if (file) (void)!fread(started, 1, sizeof started - 1, file);
    out[0] = memmem(started, sizeof started, "OMP_NUM_THREADS=3", 17) != nullptr;
    out[1] = strcmp(getenv("OMP_NUM_THREADS"), "3") == 0;
    return 0;
  }
  if (Is("routes")) {
    TryRoutes(static_cast<char*>(args->x.data), out, args->n);
    return 0;
  }
  for (int64_t i = 0; i < args->n; ++i) out[i] = static_cast<float>(args->factor) * x[i];
  return 0;
}

int64_t workspace_bytes(const scale_args* args) { return args->n * 8; }
int init(const scale_args* args) { return args->x.data == nullptr ? 0 : 1; }
)";

class NativeWorker : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { built_ = std::make_unique<TempDir>(TestBed::Compile(kSource)); }
  static void TearDownTestSuite() { built_.reset(); }

  static TestBed Bed(std::string_view trick) { return TestBed::Native(built_->path(), trick); }
  static Mishap FateOf(std::string_view trick, double call_timeout_s = 10) {
    return Bed(trick).Fate(call_timeout_s);
  }
  // Leaves the worker waiting at the doorbell.
  static BellPage StartBell(Worker& worker) {
    BellPage page = std::move(BellPage::Make()).value();
    const std::array<int, 1> fds = {page.fd()};
    const Json call = Json::MakeObject().Set("in", "in").Set("out", "out");
    EXPECT_THAT(
        worker.Send(Json::MakeObject().Set("do", "bell").Set("calls", Json::Array{call}), fds),
        IsOk());
    return page;
  }

  static std::unique_ptr<TempDir> built_;
};
std::unique_ptr<TempDir> NativeWorker::built_;

TEST_F(NativeWorker, RunsACandidateOnWhatIsLent) {
  TestBed bed = Bed("");
  const Mishap fate = bed.Fate();
  ASSERT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed.OutIsRight());
  EXPECT_TRUE(bed.out().GuardsIntact().value());
  EXPECT_THAT(bed.worker().level(), HasSubstr("seccomp"));
}

TEST_F(NativeWorker, KnowsWhichFileItWasToldToLoad) {
  TestBed bed = Bed("");
  ASSERT_THAT(bed.Start(), IsOk());
  const std::string loaded = bed.worker().loaded();
  EXPECT_THAT(loaded, ::testing::EndsWith("/candidate.so"));
  EXPECT_NE(IdentityOf(bed.worker().pid(), loaded), "");
  EXPECT_EQ(IdentityOf(bed.worker().pid(), loaded + ".other"), "");
}

TEST_F(NativeWorker, TheNumberOfThreadsIsThereBeforeAnyLibraryIsLoaded) {
  ASSERT_EQ(::setenv("OMP_NUM_THREADS", "3", 1), 0);
  TestBed bed = Bed("threads");
  const Mishap fate = bed.Fate();
  ::unsetenv("OMP_NUM_THREADS");
  ASSERT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_EQ(bed.out_values()[0], 1);
  EXPECT_EQ(bed.out_values()[1], 1);
}

TEST_F(NativeWorker, ServesTheDoorbell) {
  TestBed bed = Bed("");
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  BellPage page = StartBell(bed.worker());
  ASSERT_THAT(bed.out().Poison(), IsOk());
  const auto empty = Ring(bed.worker(), page.bell(), kBellEmpty | 1, 5);
  ASSERT_TRUE(empty->has_value()) << empty->error().reason;
  EXPECT_FALSE(bed.OutIsRight());
  const auto full = Ring(bed.worker(), page.bell(), 1, 5);
  ASSERT_TRUE(full->has_value()) << full->error().reason;
  EXPECT_TRUE(bed.OutIsRight());
  EXPECT_GT((*full)->host_ns, 0);
  ASSERT_TRUE(Ring(bed.worker(), page.bell(), kBellStop, 5)->has_value());
  const auto reply = bed.worker().Receive(5);
  ASSERT_TRUE(reply->has_value());
  EXPECT_EQ((*reply)->Int("calls").value(), 1);
}

TEST_F(NativeWorker, ACallThatFailsAtTheDoorbellSaysWhy) {
  TestBed bed = Bed("fail second");
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  BellPage page = StartBell(bed.worker());
  const auto rung = Ring(bed.worker(), page.bell(), 1, 5);
  ASSERT_FALSE(rung->has_value());
  EXPECT_EQ(rung->error().reason, "run returned 7");
}

TEST_F(NativeWorker, ACrashAtTheDoorbellIsNoticedAtOnce) {
  TestBed bed = Bed("abort second");
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  BellPage page = StartBell(bed.worker());
  const auto rung = Ring(bed.worker(), page.bell(), 1, 20);
  ASSERT_FALSE(rung->has_value());
  EXPECT_EQ(rung->error().outcome, Outcome::kCrashed);
  EXPECT_THAT(rung->error().reason, HasSubstr("SIGABRT"));
}

TEST_F(NativeWorker, ACrashIsNamedWithItsSignalAndAddress) {
  const Mishap fate = FateOf("segfault");
  EXPECT_EQ(fate.outcome, Outcome::kCrashed);
  EXPECT_THAT(fate.reason, HasSubstr("SIGSEGV"));
  EXPECT_THAT(fate.reason, HasSubstr("0x40"));
}

TEST_F(NativeWorker, LeavingIsACrashToo) {
  const Mishap left = FateOf("exit");
  EXPECT_EQ(left.outcome, Outcome::kCrashed);
  EXPECT_THAT(left.reason, HasSubstr("left by exit(0)"));
  const Mishap killed = FateOf("kill");
  EXPECT_EQ(killed.outcome, Outcome::kCrashed);
  EXPECT_THAT(killed.reason, HasSubstr("SIGKILL"));
}

TEST_F(NativeWorker, AHangEndsAtTheLimitAndTheNextWorkerWorks) {
  TestBed bed = Bed("hang");
  const Mishap fate = bed.Fate(0.2);
  EXPECT_EQ(fate.outcome, Outcome::kTimedOut);
  EXPECT_THAT(fate.reason, HasSubstr("'call' was not done after 0.2 s"));
  EXPECT_FALSE(bed.worker().alive());
  EXPECT_EQ(FateOf("").outcome, Outcome::kPassed);
}

TEST_F(NativeWorker, AForeignExceptionIsARuntimeError) {
  const Mishap fate = FateOf("throw");
  EXPECT_EQ(fate.outcome, Outcome::kRuntimeError);
  EXPECT_EQ(fate.reason, "run threw: my own words");
}

TEST_F(NativeWorker, AMissingEntryIsABadInterface) {
  const TempDir built = TestBed::Compile("extern \"C\" int walk() { return 0; }");
  const Mishap fate = TestBed::Native(built.path()).Fate();
  EXPECT_EQ(fate.outcome, Outcome::kBadInterface);
  EXPECT_THAT(fate.reason, HasSubstr("exports no function 'run'"));
}

// Shared memory is in no data limit; the judge sees it from outside.
TEST_F(NativeWorker, EatingMemoryOfAnyKindIsOutOfMemory) {
  for (const char* trick : {"eat new", "eat malloc", "eat shared", "eat dropped"}) {
    TestBed bed = Bed(trick);
    bed.spec.memory_bytes = uint64_t{192} << 20;
    const Mishap fate = bed.Fate();
    EXPECT_EQ(fate.outcome, Outcome::kOutOfMemory) << trick << ": " << fate.reason;
  }
}

TEST_F(NativeWorker, WhatItPrintsIsOnlyALog) {
  TestBed bed = Bed("print");
  EXPECT_EQ(bed.Fate().outcome, Outcome::kPassed);
  EXPECT_TRUE(bed.OutIsRight());
  // The log arrives beside the replies, so the end of it may be a moment late.
  for (int i = 0; i < 100 && bed.worker().Log().find("judge: passed") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_NE(bed.worker().Log().find("judge: passed"), std::string::npos);
  EXPECT_LE(bed.worker().Log().size(), size_t{64} << 10);
}

TEST_F(NativeWorker, RubbishOnEveryDescriptorIsNoReply) {
  const Mishap rubbish = FateOf("rubbish");
  EXPECT_EQ(rubbish.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(rubbish.reason, HasSubstr("wrote to the judge's socket"));
}

TEST_F(NativeWorker, AForgedReplyBeforeItsTimeIsNoticed) {
  TestBed bed = Bed("forge");
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto second = bed.Call();
  ASSERT_FALSE(second->has_value());
  EXPECT_THAT(second->error().reason, HasSubstr("before it was asked"));
}

TEST_F(NativeWorker, AWriteToAnInputIsNamed) {
  const Mishap fate = FateOf("mutate");
  EXPECT_EQ(fate.outcome, Outcome::kInputMutated) << fate.reason;
  EXPECT_THAT(fate.reason, HasSubstr("byte 12 of x"));
}

TEST_F(NativeWorker, NoRouteLeadsToWritableInputs) {
  TestBed bed = Bed("routes");
  ASSERT_EQ(bed.Fate().outcome, Outcome::kPassed);
  for (int route = 0; route < 6; ++route) EXPECT_EQ(bed.out_values()[route], 0) << route;
  EXPECT_EQ(bed.out_values()[6], 1);
  const auto* x =
      reinterpret_cast<const float*>(bed.in().memory().data() + bed.in().layout().places[0].offset);
  for (int i = 0; i < TestBed::kElements; ++i) ASSERT_EQ(x[i], static_cast<float>(i));
}

TEST_F(NativeWorker, AWriteJustBeyondAnOutputBreaksItsGuard) {
  TestBed bed = Bed("overrun");
  EXPECT_EQ(bed.Fate().outcome, Outcome::kPassed);
  EXPECT_FALSE(bed.out().GuardsIntact().value());
}

TEST_F(NativeWorker, AWriteFarBeyondAnOutputFaults) {
  const Mishap fate = FateOf("overrun far");
  EXPECT_EQ(fate.outcome, Outcome::kOutOfBounds) << fate.reason;
  EXPECT_THAT(fate.reason, HasSubstr("of out"));
}

TEST_F(NativeWorker, SendsBackAWorkspaceSize) {
  TestBed bed = Bed("");
  const auto started = bed.Start();
  ASSERT_TRUE(started->has_value()) << started->error().reason;
  EXPECT_EQ((*started)->Int("workspace_bytes").value(), 8 * TestBed::kElements);
}

}  // namespace
}  // namespace roofmark::worker
