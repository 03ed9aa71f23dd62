// SPDX-License-Identifier: Apache-2.0
// Where the judge's time goes. One account per process, like the clock that it reads: stretches of
// the judging thread nest, each counts what its inner ones do not, and whatever lies in none of
// them is `other`. So the parts always add up to the time that passed. Stretches of other threads
// (work done ahead while a device measures) are kept apart, since they cost no waiting.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace roofmark::gate {

enum class Part {
  kCompile,      // the compiler, and loading and init of the candidate, where JITs compile
  kWorkerStart,  // sandboxes and interpreters
  kInputs,       // the reference draws inputs
  kExpected,     // the reference computes expected outputs
  kCalls,        // untimed calls of the correctness gate
  kCompare,      // poison, guards, fingerprints and values
  kTiming,       // timed batches
  kFlush,        // cold caches, where the judge makes them (on a CPU)
  kAttribution,  // who runs
  kRecompile,    // waiting for compilers that make a candidate's code again
  kArenas,       // making, mapping and unmapping memory
  kWaiting,      // for another judge that measures on this device
  kStore,        // archive and verdicts
  kOther,
};
inline constexpr size_t kPartCount = 14;
std::string_view PartName(Part part);

// What a part belongs to: the three things that a judge is for, or what it costs beside them.
enum class PartKind { kCompiling, kReference, kMeasuring, kOverhead, kNotOurs };
PartKind KindOf(Part part);

using PartSeconds = std::array<double, kPartCount>;

class Ledger {
 public:
  // The account of this process.
  static Ledger& Instance();

  // Forgets everything; from now on the calling thread is the judging one.
  void Open();

  struct Totals {
    double wall_s = 0;
    PartSeconds all{};                         // of the judging thread, kOther included
    std::map<std::string, PartSeconds> whose;  // by account, as named; "" = nobody's in particular
    PartSeconds ahead{};                       // of other threads, at the same time
    // Overhead as a share of the time in which nobody else measured.
    double OverheadShare() const;
  };
  Totals Read() const;

  // What other processes did for a part meanwhile, beside the judging thread.
  void AddAhead(Part part, double seconds);

 private:
  friend class Stretch;
  void Add(Part part, const std::string& who, double seconds);

  mutable std::mutex mutex_;
  std::chrono::steady_clock::time_point opened_ = std::chrono::steady_clock::now();
  std::thread::id judging_ = std::this_thread::get_id();
  std::map<std::string, PartSeconds> whose_;
  PartSeconds ahead_{};
};

// From here to the end of the block, time belongs to `part` of `who`; an empty `who` is that of the
// stretch around it.
class Stretch {
 public:
  explicit Stretch(Part part, std::string_view who = "");
  ~Stretch();
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

 private:
  Part part_;
  std::string who_;
  Stretch* around_;
  double own_s_ = 0;
  std::chrono::steady_clock::time_point since_;
};

}  // namespace roofmark::gate
