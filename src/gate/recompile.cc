// SPDX-License-Identifier: Apache-2.0
#include "gate/recompile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "base/elapsed.h"
#include "base/hex.h"
#include "gate/contestant.h"
#include "gate/evidence.h"
#include "gate/ledger.h"
#include "gate/same_code.h"
#include "gate/scratch_files.h"
#include "gate/text_at.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

// Importing Triton from a cold disk, and compiling a first kernel.
constexpr double kStartTimeoutS = 120;
constexpr double kSubmitTimeoutS = 60;
// A request for a result waits so long, and is made again.
constexpr double kCollectS = 20;
// Each compilation may take what init may take (roofmark_recompile.py); some stand in line.
constexpr double kPatienceS = 660;
constexpr uint64_t kMemoryBytes = uint64_t{16} << 30;
// Beyond these nothing is sent: no compiler's output is as large.
constexpr uint64_t kMostCubinBytes = uint64_t{16} << 20;
constexpr uint64_t kMostTextBytes = uint64_t{8} << 20;
// More new kernels than this at once are a search for the best of them.
constexpr size_t kMostAhead = 4;
// A process that dies of one piece of code does so twice.
constexpr int kMostDeaths = 2;

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec && a.st_ctim.tv_sec == b.st_ctim.tv_sec &&
         a.st_ctim.tv_nsec == b.st_ctim.tv_nsec;
}

// A plain file beside the cubin; empty where there is none, or one that nobody would compile.
std::string Beside(const fs::path& cubin, const char* extension) {
  const fs::path path = fs::path(cubin).replace_extension(extension);
  std::error_code ignored;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored))) return "";
  return ReadFile(path, kMostTextBytes).value_or("");
}

// "sm_90" of {"target": {"arch": 90}}; empty where it cannot be told.
std::string ArchOf(const std::string& options) {
  const Result<Json> json = Json::Parse(options);
  if (!json) return "";
  const Json* const target = json->Find("target");
  const Json* const arch = target != nullptr ? target->Find("arch") : nullptr;
  return arch != nullptr && arch->is_int() ? fmt::format("sm_{}", arch->as_int()) : "";
}

}  // namespace

void Recompiler::Spawn() {
  worker_.reset();
  greeted_ = false;
  ++server_;
  const auto spawn = [&]() -> Result<std::unique_ptr<worker::Worker>> {
    if (!folder_) folder_ = TRY(TempDir::Make("roofmark-recompile"));
    return worker::SpawnWorker(
        {.kind = worker::WorkerKind::kRecompiler,
         .device = DeviceKind::kCpu,
         .folder = folder_->path(),
         .memory_bytes = kMemoryBytes,
         .environment = {"ROOFMARK_ARCH=" + arch_.substr(arch_.find('_') + 1)}});
  };
  Result<std::unique_ptr<worker::Worker>> spawned = spawn();
  if (spawned) {
    worker_ = std::move(*spawned);
  } else {
    unable_ = spawned.error().message();
  }
}

bool Recompiler::Ready() {
  if (!unable_.empty()) return false;
  if (worker_ == nullptr) Spawn();
  if (worker_ == nullptr) return false;
  if (greeted_) return true;
  if (const Result<void> greeted = worker_->Greet(kStartTimeoutS); !greeted) {
    unable_ = greeted.error().message();
    return false;
  }
  greeted_ = true;
  // What this Triton cannot do with code of our own is held against nobody.
  unable_ = TextAt(worker_->versions(), "fault");
  return unable_.empty();
}

std::optional<Json> Recompiler::Ask(const Json& request, double timeout_s) {
  if (!Ready()) return std::nullopt;
  const Result<worker::Answer<Json>> answer = worker_->Ask(request, timeout_s);
  if (answer && *answer) return **answer;
  if (answer) {
    death_ = answer->error().reason;
  } else {
    unable_ = answer.error().message();
  }
  worker_.reset();
  return std::nullopt;
}

std::vector<Recompiler::Found> Recompiler::Fresh(const fs::path& scratch) {
  std::vector<Found> fresh;
  for (const fs::path& path : ScratchFiles(scratch, ".cubin")) {
    struct stat stamp{};
    if (::lstat(path.c_str(), &stamp) != 0 || !S_ISREG(stamp.st_mode)) continue;
    auto known = files_.find(path.string());
    if (known == files_.end() || !SameFile(known->second.stamp, stamp)) {
      const Result<std::string> cubin = ReadFile(path);
      if (!cubin) continue;
      known = files_.insert_or_assign(path.string(), File{stamp, meter::CubinHash(*cubin)}).first;
    }
    const auto job = jobs_.find(known->second.hash);
    const bool is_new = job == jobs_.end() || job->second.incomplete;
    const auto same = [&](const Found& found) { return found.hash == known->second.hash; };
    if (is_new && std::ranges::none_of(fresh, same)) fresh.push_back({path, known->second.hash});
  }
  return fresh;
}

void Recompiler::Refute(Job* job, std::string why) {
  job->done = true;
  job->why = std::move(why);
  job->cubin.clear();
  job->ttir.clear();
  job->ttgir.clear();
  job->options.clear();
}

void Recompiler::Begin(const Found& found) {
  Job& job = jobs_[found.hash] = Job{.kernel = found.path.stem().string()};
  const Result<std::string> cubin = ReadFile(found.path, kMostCubinBytes);
  if (!cubin || meter::CubinHash(*cubin) != found.hash) {
    Refute(&job, "it was exchanged meanwhile, or is larger than any");
    job.incomplete = true;
    return;
  }
  job.cubin = *cubin;
  job.ttir = Beside(found.path, ".ttir");
  job.ttgir = Beside(found.path, ".ttgir");
  job.options = Beside(found.path, ".json");
  if ((job.ttir.empty() && job.ttgir.empty()) || job.options.empty()) {
    Refute(&job,
           "no .ttir or .ttgir lies there with its .json; Triton leaves them, so leave "
           "TRITON_STORE_BINARY_ONLY as it is");
    job.incomplete = true;
    return;
  }
  if (const std::string arch = ArchOf(job.options); !arch.empty() && arch != arch_) {
    Refute(&job, fmt::format("its .json says {}, and this device is {}", arch, arch_));
    return;
  }
  job.stage = job.ttir.empty() ? "ttgir" : "ttir";
  Submit(found.hash, &job);
}

void Recompiler::Submit(const std::string& hash, Job* job) {
  const std::string& code = job->stage == "ttir" ? job->ttir : job->ttgir;
  const std::optional<Json> reply = Ask(Json::MakeObject()
                                            .Set("do", "submit")
                                            .Set("key", hash)
                                            .Set("stage", job->stage)
                                            .Set("code", ToHex(code))
                                            .Set("options", ToHex(job->options))
                                            .Set("layouts", ToHex(job->ttgir)),
                                        kSubmitTimeoutS);
  job->server = reply ? server_ : 0;
}

void Recompiler::BeginAhead(const fs::path& scratch) {
  const Stretch stretch(Part::kRecompile, account_);
  const std::vector<Found> fresh = Fresh(scratch);
  if (fresh.size() > kMostAhead) return;
  for (const Found& found : fresh) Begin(found);
}

void Recompiler::Need(const std::vector<std::string>& ran, const fs::path& scratch) {
  const Stretch stretch(Part::kRecompile, account_);
  for (const Found& found : Fresh(scratch)) {
    if (std::ranges::find(ran, found.hash) != ran.end()) Begin(found);
  }
}

void Recompiler::Take(const Json& done, const std::string& hash, Job* job) {
  if (const Json* const seconds = done.Find("seconds");
      seconds != nullptr && seconds->is_number() && seconds->as_double() > 0) {
    Ledger::Instance().AddAhead(Part::kRecompile, seconds->as_double());
  }
  std::string why = TextAt(done, "failure");
  if (!why.empty()) {
    why = fmt::format("it makes nothing of the .{}: {}", job->stage, why);
  } else if (const std::string difference =
                 CodeDifference(job->cubin, FromHex(TextAt(done, "cubin")).value_or(""));
             !difference.empty()) {
    why = fmt::format("made of the .{}, it differs in {}", job->stage, difference);
  }
  if (why.empty()) return Refute(job, "");
  if (job->why.empty()) job->why = std::move(why);
  // Not all that Triton writes can it read again; one stage later says as much of Gluon's code.
  if (job->stage == "ttgir" || job->ttgir.empty()) return Refute(job, job->why);
  job->stage = "ttgir";
  Submit(hash, job);
}

void Recompiler::Advance(const std::string& hash, Job* job, Patience patience) {
  const auto begin = std::chrono::steady_clock::now();
  while (!job->done && unable_.empty()) {
    if (job->server != server_ || worker_ == nullptr) {
      // The process that had it has died, of this or of another piece of the candidate's code.
      if (job->deaths++ == kMostDeaths) {
        return Refute(job, "its compiler does not survive it: " + death_);
      }
      Submit(hash, job);
      continue;
    }
    const double wait_s = patience == Patience::kWait ? kCollectS : 0;
    const std::optional<Json> reply =
        Ask(Json::MakeObject().Set("do", "collect").Set("key", hash).Set("wait_s", wait_s),
            wait_s + kSubmitTimeoutS);
    if (!reply) continue;
    const Json* const done = reply->Find("done");
    if (done != nullptr && done->is_object()) {
      Take(*done, hash, job);
    } else if (patience == Patience::kNone) {
      return;
    } else if (SecondsSince(begin) > kPatienceS) {
      return Refute(job, fmt::format("not done after {:g} s", kPatienceS));
    }
  }
}

Recompiled Recompiler::Hear(const std::vector<std::string>& ran, Patience patience) {
  const Stretch stretch(Part::kRecompile, account_);
  Recompiled found;
  for (const std::string& hash : ran) {
    const auto job = jobs_.find(hash);
    if (job == jobs_.end()) {
      found.refuted = "a code object that ran is no longer in the cache of Triton's compiler";
      continue;
    }
    Advance(hash, &job->second, patience);
    if (!job->second.done) {
      found.settled = !unable_.empty();
    } else if (!job->second.why.empty()) {
      found.refuted = fmt::format(
          "kernel {} is not what Triton's compiler makes of the intermediate code beside it in its "
          "cache ({}): it was not compiled from the source",
          job->second.kernel, job->second.why);
    }
    if (!found.settled || !found.refuted.empty()) break;
  }
  if (!unable_.empty()) {
    found.level = "its code was not compiled again: " + unable_;
  } else if (found.refuted.empty()) {
    found.level = fmt::format("compiled again: {} code objects, the same", ran.size());
  }
  return found;
}

const std::shared_ptr<Recompiler>& Contestant::recompiler() {
  if (recompiler_ == nullptr) recompiler_ = std::make_shared<Recompiler>(device_.arch, account());
  return recompiler_;
}

bool SettleVerdict(const std::vector<std::string>& code, Patience patience, Recompiler& by,
                   Verdict* verdict) {
  if (code.empty()) return true;
  const Recompiled heard = by.Hear(code, patience);
  if (!heard.settled) return false;
  const std::string note = heard.level.empty() ? "" : "; " + heard.level;
  verdict->level += note;
  // As if the witness had been heard before the timing was concluded: faults that come earlier in
  // that order stay, and so does what happened to it after it was timed.
  const bool counts = IsConclusion(verdict->outcome) &&
                      verdict->outcome != Outcome::kUnsynchronised &&
                      verdict->outcome != Outcome::kFallback;
  if (!heard.refuted.empty() && counts) {
    verdict->outcome = Outcome::kFallback;
    verdict->reason = heard.refuted;
    verdict->against.reset();
  }
  if (const Json* const found = verdict->evidence.Find("timing"); found != nullptr) {
    Json timing = *found;
    timing.Set("level", TextAt(timing, "level") + note);
    if (!heard.refuted.empty()) timing.Set("refuted", heard.refuted);
    verdict->evidence.Set("timing", std::move(timing));
  }
  return true;
}

}  // namespace roofmark::gate
