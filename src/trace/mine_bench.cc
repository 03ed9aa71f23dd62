// SPDX-License-Identifier: Apache-2.0
// How fast mining is. From a .json.gz no reader can beat inflating it, so both run in turns, and
// the targets are shares of ISA-L's rate: half in Kineto's own layout, a third on one line. Plain
// text and an export of Nsight Systems have rates of their own to reach (2 GB/s, 1.5 million rows a
// second). Memory is stated beside its bound: 64 MB and 60 bytes for each record that is kept.
//
// The profile is the public one of xDiT where ../shared (or $ROOFMARK_SHARED) has it, else one made
// of an example. The files are left in $ROOFMARK_BENCH_FILES where that is set, for other tools.
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
#include "base/subprocess.h"
#include "trace/byte_source.h"
#include "trace/replicate.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

constexpr std::string_view kPublic = "traces/kineto_rocm/xdit_sd35_torch_compile.json.gz";
constexpr std::string_view kExample = "examples/profiles/moe_prefill.json.gz";

// As PyTorch packs profiles: with zlib, at the level of Python's gzip.
fs::path Packed(const fs::path& path) {
  const auto done = RunCommand({"gzip", "-9", "-k", "-f", path.string()});
  CHECK(done.has_value() && done->exit_code == 0);
  return path.string() + ".gz";
}

// The same profile in each form.
class Files {
 public:
  static const Files& Get() {
    static const Files files;
    return files;
  }
  const fs::path& folder() const { return folder_; }
  fs::path native() const { return folder_ / "native.json"; }
  fs::path native_gz() const { return folder_ / "native.json.gz"; }
  fs::path line_gz() const { return folder_ / "line.json.gz"; }
  const Rules& rules() const { return rules_; }

 private:
  Files() : scratch_(TempDir::Make("mine_bench").value()) {
    const char* kept = std::getenv("ROOFMARK_BENCH_FILES");
    folder_ = kept != nullptr ? fs::path(kept) : scratch_.path();
    fs::create_directories(folder_);
    const char* named = std::getenv("ROOFMARK_SHARED");
    const fs::path shared =
        named != nullptr ? fs::path(named) : fs::path(ROOFMARK_SOURCE_DIR).parent_path() / "shared";
    if (const fs::path original = shared / kPublic; fs::exists(original)) {
      CHECK(ReplicateProfile(original, native(), {}));
      // As it is: one line, and packed by whoever recorded it.
      fs::copy_file(original, line_gz(), fs::copy_options::overwrite_existing);
    } else {
      const fs::path example = fs::path(ROOFMARK_SOURCE_DIR) / kExample;
      constexpr uint64_t kBytes = 64 << 20;
      CHECK(ReplicateProfile(example, native(), {.bytes = kBytes}));
      const fs::path line = folder_ / "line.json";
      CHECK(ReplicateProfile(example, line, {.bytes = kBytes, .layout = EventLayout::kOneLine}));
      Packed(line);
    }
    Packed(native());
  }

  TempDir scratch_;
  fs::path folder_;
  Rules rules_ = Rules::Load(fs::path(ROOFMARK_SOURCE_DIR) / "rules").value();
};

// Returns the bytes that come out.
uint64_t InflateOnce(const fs::path& path) {
  ByteSource source = ByteSource::OpenFile(path).value();
  static std::vector<char> block(256 << 10);
  while (source.Read(block.data(), block.size()).value() > 0) benchmark::DoNotOptimize(block[0]);
  return source.bytes();
}

// Returns the records that were kept.
double MineOnce(const fs::path& path) {
  const Result<ProfileSummary> summary = MineProfile(path, Files::Get().rules());
  CHECK(summary.has_value());
  return static_cast<double>(summary->json.Find("records")->as_int());
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
  return at == std::string::npos ? 0 : std::strtod(status.c_str() + at + 6, nullptr) * 1024 / 1e6;
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

void StateMemory(benchmark::State& state, double records) {
  state.counters["peak_MB"] = PeakMegabytes();
  state.counters["bound_MB"] = 64 + 60e-6 * records;
}

// In turns, so that whatever else the machine does falls on both; medians of processor time.
void MineAgainstInflate(benchmark::State& state, const fs::path& path) {
  std::vector<double> inflate;
  std::vector<double> mine;
  double bytes = 0;
  double records = 0;
  ResetPeak();
  for (auto _ : state) {
    const double start = ThreadSeconds();
    bytes = static_cast<double>(InflateOnce(path));
    const double middle = ThreadSeconds();
    records = MineOnce(path);
    const double end = ThreadSeconds();
    inflate.push_back(middle - start);
    mine.push_back(end - middle);
  }
  state.counters["isal_GB/s"] = bytes / MiddleOf(inflate) / 1e9;
  state.counters["mine_GB/s"] = bytes / MiddleOf(mine) / 1e9;
  state.counters["mine/isal"] = MiddleOf(inflate) / MiddleOf(mine);
  StateMemory(state, records);
}

void GzipNative(benchmark::State& state) {
  MineAgainstInflate(state, Files::Get().native_gz());
}
BENCHMARK(GzipNative)->Unit(benchmark::kMillisecond)->Iterations(25);

void GzipOneLine(benchmark::State& state) {
  MineAgainstInflate(state, Files::Get().line_gz());
}
BENCHMARK(GzipOneLine)->Unit(benchmark::kMillisecond)->Iterations(25);

void PlainNative(benchmark::State& state) {
  const fs::path path = Files::Get().native();
  std::vector<double> mine;
  double records = 0;
  ResetPeak();
  for (auto _ : state) {
    const double start = ThreadSeconds();
    records = MineOnce(path);
    mine.push_back(ThreadSeconds() - start);
  }
  state.counters["mine_GB/s"] = static_cast<double>(fs::file_size(path)) / MiddleOf(mine) / 1e9;
  StateMemory(state, records);
}
BENCHMARK(PlainNative)->Unit(benchmark::kMillisecond)->Iterations(25);

// An export of Nsight Systems with as many kernels, calls and ranges as `steps` steps make.
fs::path MakeDatabase(const fs::path& folder, int64_t steps) {
  constexpr int64_t kKernels = 300;
  constexpr int64_t kThread = int64_t{77} << 24 | 1;
  const fs::path path = folder / "made.sqlite";
  fs::remove(path);
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

// Rows a second of processor time: read alone, and mined, which reads them too.
void Sqlite(benchmark::State& state) {
  const fs::path path = MakeDatabase(Files::Get().folder(), 1000);
  std::vector<double> reads;
  std::vector<double> mines;
  double records = 0;
  double rows = 0;
  ResetPeak();
  for (auto _ : state) {
    const double start = ThreadSeconds();
    rows = static_cast<double>(ReadProfile(path).value().events);
    const double middle = ThreadSeconds();
    records = MineOnce(path);
    reads.push_back(middle - start);
    mines.push_back(ThreadSeconds() - middle);
  }
  state.counters["read_Mrows/s"] = rows / MiddleOf(reads) / 1e6;
  state.counters["mine_Mrows/s"] = rows / MiddleOf(mines) / 1e6;
  StateMemory(state, records);
}
BENCHMARK(Sqlite)->Unit(benchmark::kMillisecond)->Iterations(7);

}  // namespace
}  // namespace roofmark::trace
