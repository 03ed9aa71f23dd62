// SPDX-License-Identifier: Apache-2.0
#include "gate/ledger.h"

#include <algorithm>

namespace roofmark::gate {
namespace {

using Clock = std::chrono::steady_clock;

struct PartFacts {
  std::string_view name;
  PartKind kind;
};

constexpr std::array<PartFacts, kPartCount> kFacts = {{
    {"compile", PartKind::kCompiling},
    {"worker_start", PartKind::kOverhead},
    {"inputs", PartKind::kReference},
    {"expected", PartKind::kReference},
    {"calls", PartKind::kMeasuring},
    {"compare", PartKind::kMeasuring},
    {"timing", PartKind::kMeasuring},
    {"flush", PartKind::kMeasuring},
    {"attribution", PartKind::kMeasuring},
    {"recompile", PartKind::kMeasuring},
    {"arenas", PartKind::kOverhead},
    {"waiting", PartKind::kNotOurs},
    {"store", PartKind::kOverhead},
    {"other", PartKind::kOverhead},
}};

thread_local Stretch* innermost = nullptr;

double Seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

std::string_view PartName(Part part) {
  return kFacts[static_cast<size_t>(part)].name;
}

PartKind KindOf(Part part) {
  return kFacts[static_cast<size_t>(part)].kind;
}

Ledger& Ledger::Instance() {
  static Ledger ledger;
  return ledger;
}

void Ledger::Open() {
  const std::scoped_lock lock(mutex_);
  opened_ = Clock::now();
  judging_ = std::this_thread::get_id();
  whose_.clear();
  ahead_ = {};
}

void Ledger::Add(Part part, const std::string& who, double seconds) {
  const std::scoped_lock lock(mutex_);
  const auto index = static_cast<size_t>(part);
  if (std::this_thread::get_id() == judging_) {
    whose_[who][index] += seconds;
  } else {
    ahead_[index] += seconds;
  }
}

void Ledger::AddAhead(Part part, double seconds) {
  const std::scoped_lock lock(mutex_);
  ahead_[static_cast<size_t>(part)] += seconds;
}

Ledger::Totals Ledger::Read() const {
  const std::scoped_lock lock(mutex_);
  Totals totals{.wall_s = Seconds(Clock::now() - opened_), .whose = whose_, .ahead = ahead_};
  double counted = 0;
  for (const auto& [who, parts] : whose_) {
    for (size_t i = 0; i < kPartCount; ++i) {
      totals.all[i] += parts[i];
      counted += parts[i];
    }
  }
  const double rest = std::max(0.0, totals.wall_s - counted);
  totals.all[static_cast<size_t>(Part::kOther)] += rest;
  totals.whose[""][static_cast<size_t>(Part::kOther)] += rest;
  return totals;
}

double Ledger::Totals::OverheadShare() const {
  double overhead = 0;
  double ours = 0;
  for (size_t i = 0; i < kPartCount; ++i) {
    if (kFacts[i].kind == PartKind::kNotOurs) continue;
    ours += all[i];
    if (kFacts[i].kind == PartKind::kOverhead) overhead += all[i];
  }
  return ours > 0 ? overhead / ours : 0;
}

Stretch::Stretch(Part part, std::string_view who)
    : part_(part), who_(who), around_(innermost), since_(Clock::now()) {
  if (around_ != nullptr) {
    around_->own_s_ += Seconds(since_ - around_->since_);
    if (who_.empty()) who_ = around_->who_;
  }
  innermost = this;
}

Stretch::~Stretch() {
  const Clock::time_point now = Clock::now();
  Ledger::Instance().Add(part_, who_, own_s_ + Seconds(now - since_));
  if (around_ != nullptr) around_->since_ = now;
  innermost = around_;
}

}  // namespace roofmark::gate
