// SPDX-License-Identifier: Apache-2.0
// How fast mining is, against what no reader of a .json.gz can beat: inflating it. The profile is
// the public 62 MB one of xDiT where ../shared (or $ROOFMARK_SHARED) has it, else one made from the
// tests' sample. The target: at least a third of the inflate rate, under 100 MB of memory. An
// export of Nsight Systems is made and read in rows a second.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "base/check.h"
#include "base/files.h"
#include "base/owned.h"
#include "base/sqlite.h"
#include "trace/byte_source.h"
#include "trace/gzip_for_tests.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

constexpr std::string_view kPublic = "traces/kineto_rocm/xdit_sd35_torch_compile.json.gz";

// The events of a sample with their times shifted and their identifiers renumbered.
std::string Shifted(const Json& events, int64_t copy) {
  constexpr double kSpan = 3000;  // us, more than the sample lasts
  constexpr int64_t kIds = 1000;  // more than it has
  std::string out;
  for (Json event : events.array()) {
    event.Set("ts", event.Find("ts")->as_double() + kSpan * static_cast<double>(copy));
    if (event.Find("args") != nullptr) {
      Json args = *event.Find("args");
      for (const char* key : {"External id", "correlation"}) {
        const Json* id = args.Find(key);
        if (id != nullptr) args.Set(key, id->as_int() + kIds * copy);
      }
      event.Set("args", std::move(args));
    }
    out += event.Dump() + ", ";
  }
  return out;
}

// Copies of the tests' sample on one line, as tools write them, until there are 64 MB.
std::string MadeProfile() {
  std::string text =
      ReadFile(fs::path(ROOFMARK_SOURCE_DIR) / "src/trace/testdata/two_steps.json").value();
  text.replace(text.find(": inf"), 5, ": null");
  const Json tree = Json::Parse(text).value();
  std::string out = "{\"record_shapes\": 1, \"traceEvents\": [";
  for (int64_t copy = 0; out.size() < (size_t{64} << 20); ++copy) {
    out += Shifted(*tree.Find("traceEvents"), copy);
  }
  return out + "{}]}";
}

// The profile to mine, and where a made one lives.
class Subject {
 public:
  static const Subject& Get() {
    static const Subject subject;
    return subject;
  }
  const fs::path& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

 private:
  Subject() : folder_(TempDir::Make("mine_bench").value()) {
    const char* named = std::getenv("ROOFMARK_SHARED");
    const fs::path shared =
        named != nullptr ? fs::path(named) : fs::path(ROOFMARK_SOURCE_DIR).parent_path() / "shared";
    path_ = shared / kPublic;
    if (!fs::exists(path_)) {
      path_ = folder_.path() / "made.json.gz";
      CHECK(WriteFile(path_, Gzip(MadeProfile())));
    }
    ByteSource source = ByteSource::OpenFile(path_).value();
    std::vector<char> block(256 << 10);
    while (source.Read(block.data(), block.size()).value() > 0) continue;
    bytes_ = source.bytes();
  }

  TempDir folder_;
  fs::path path_;
  uint64_t bytes_ = 0;
};

void InflateOnce() {
  ByteSource source = ByteSource::OpenFile(Subject::Get().path()).value();
  static std::vector<char> block(256 << 10);
  while (source.Read(block.data(), block.size()).value() > 0) benchmark::DoNotOptimize(block[0]);
}

void MineOnce(const Rules& rules) {
  const Result<ProfileSummary> summary = MineProfile(Subject::Get().path(), rules);
  CHECK(summary.has_value());
  benchmark::DoNotOptimize(summary->aggregate.busy_ns);
}

double ThreadSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The kernel's high-water mark of resident memory, since it was last reset.
double PeakMegabytes() {
  const std::string status = ReadFile("/proc/self/status").value();
  const size_t at = status.find("VmHWM:");
  return at == std::string::npos ? 0 : std::strtod(status.c_str() + at + 6, nullptr) / 1024;
}
void ResetPeak() {
  malloc_trim(0);
  // Refused where /proc is not ours; the peak is then that of the whole process.
  const Fd file(::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC));
  if (file.valid() && ::write(file.get(), "5", 1) != 1) return;
}

double MiddleOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void Inflate(benchmark::State& state) {
  for (auto _ : state) InflateOnce();
  state.SetBytesProcessed(static_cast<int64_t>(Subject::Get().bytes()) * state.iterations());
}
BENCHMARK(Inflate)->Unit(benchmark::kMillisecond);

void Mine(benchmark::State& state) {
  const Rules rules = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules").value();
  for (auto _ : state) MineOnce(rules);
  state.SetBytesProcessed(static_cast<int64_t>(Subject::Get().bytes()) * state.iterations());
}
BENCHMARK(Mine)->Unit(benchmark::kMillisecond);

// Both in turns, so that whatever else the machine does falls on both; medians of processor time.
void MineAgainstInflate(benchmark::State& state) {
  const Rules rules = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules").value();
  std::vector<double> inflate;
  std::vector<double> mine;
  Subject::Get();
  ResetPeak();
  for (auto _ : state) {
    const double start = ThreadSeconds();
    InflateOnce();
    const double middle = ThreadSeconds();
    MineOnce(rules);
    const double end = ThreadSeconds();
    inflate.push_back(middle - start);
    mine.push_back(end - middle);
  }
  const auto bytes = static_cast<double>(Subject::Get().bytes());
  state.counters["inflate_GB/s"] = bytes / MiddleOf(inflate) / 1e9;
  state.counters["mine_GB/s"] = bytes / MiddleOf(mine) / 1e9;
  state.counters["mine/inflate"] = MiddleOf(inflate) / MiddleOf(mine);
  state.counters["peak_MB"] = PeakMegabytes();
}
BENCHMARK(MineAgainstInflate)->Unit(benchmark::kMillisecond)->Iterations(25);

// An export of Nsight Systems with as many kernels, calls and ranges as `steps` steps make.
fs::path MakeDatabase(const fs::path& folder, int64_t steps) {
  constexpr int64_t kKernels = 300;
  constexpr int64_t kThread = int64_t{77} << 24 | 1;
  const fs::path path = folder / "made.sqlite";
  const Database db = Database::Open(path, OpenMode::kReadWrite).value();
  CHECK(db.Execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId "
                   "INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid "
                   "INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, blockX "
                   "INTEGER, graphNodeId INTEGER);"
                   "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, "
                   "eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
                   "returnValue INTEGER);"
                   "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text "
                   "TEXT, textId INTEGER, globalTid INTEGER)")
            .has_value());
  Transaction whole = Transaction::Begin(db).value();
  Statement name = db.Prepare("INSERT INTO StringIds VALUES (?, ?)").value();
  CHECK(name.Bind(1, int64_t{1}).Bind(2, "nvjet_tst_192x192").Run().has_value());
  CHECK(name.Bind(1, int64_t{2}).Bind(2, "cudaLaunchKernel_v7000").Run().has_value());
  Statement kernel =
      db.Prepare(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, 7, ?, ?, 1, 1, 8, "
            "256, NULL)")
          .value();
  Statement call =
      db.Prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, 2, 0)").value();
  Statement range = db.Prepare("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?)").value();
  for (int64_t i = 0; i < steps * kKernels; ++i) {
    const int64_t at = i * 5000;
    CHECK(kernel.Bind(1, at + 3000).Bind(2, at + 7000).Bind(3, i + 1).Bind(4, kThread).Run());
    CHECK(call.Bind(1, at + 500).Bind(2, at + 900).Bind(3, kThread).Bind(4, i + 1).Run());
    const std::string text =
        fmt::format("aten::mm, op_id = {}, sizes = [[32, 4096], [4096, 64]]", i);
    CHECK(range.Bind(1, at).Bind(2, at + 1000).Bind(3, text).Bind(4, kThread).Run());
  }
  CHECK(whole.Commit().has_value());
  return path;
}

// Rows a second of processor time, reading and mining; the target is 1.5 million.
void MineSqlite(benchmark::State& state) {
  const TempDir folder = TempDir::Make("sqlite_bench").value();
  const fs::path path = MakeDatabase(folder.path(), 1000);
  const Rules rules = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules").value();
  std::vector<double> reads;
  std::vector<double> mines;
  double rows = 0;
  for (auto _ : state) {
    const double start = ThreadSeconds();
    const Result<Profile> profile = ReadProfile(path);
    const double middle = ThreadSeconds();
    CHECK(profile.has_value());
    rows = static_cast<double>(profile->events);
    const Result<ProfileSummary> summary = MineProfile(path, rules);
    CHECK(summary.has_value());
    reads.push_back(middle - start);
    mines.push_back(ThreadSeconds() - middle);
  }
  state.counters["read_Mrows/s"] = rows / MiddleOf(reads) / 1e6;
  state.counters["mine_Mrows/s"] = rows / MiddleOf(mines) / 1e6;
  state.counters["peak_MB"] = PeakMegabytes();
}
BENCHMARK(MineSqlite)->Unit(benchmark::kMillisecond)->Iterations(5);

}  // namespace
}  // namespace roofmark::trace
