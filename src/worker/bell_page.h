// SPDX-License-Identifier: Apache-2.0
// The judge's side of the doorbell: makes the shared page and rings it.
#pragma once

#include <cstdint>

#include "base/owned.h"
#include "base/result.h"
#include "worker/bell.h"
#include "worker/worker.h"

namespace roofmark::worker {

class BellPage {
 public:
  // Errors: kDevice when the page cannot be made.
  static Result<BellPage> Make();
  BellPage(BellPage&& other) noexcept;
  BellPage& operator=(BellPage&&) = delete;
  BellPage(const BellPage&) = delete;
  ~BellPage();

  // To be sent with the request {"do": "bell", ...}; owned by the page.
  int fd() const { return fd_.get(); }
  Bell& bell() { return *bell_; }

 private:
  BellPage(Fd fd, Bell* bell) : fd_(std::move(fd)), bell_(bell) {}
  Fd fd_;
  Bell* bell_;
};

struct RingTime {
  double host_ns = 0;    // the judge's clock from just before the ring to just after the answer
  double worker_ns = 0;  // the worker's own clock around the call: testimony
};

// Forgets what earlier calls returned and rings `number` (with kBellEmpty set for an empty call)
// and waits for the answer. A worker that has waited for long sleeps between looks, so ring an
// empty call first; the pause between the two should stay under a millisecond. A Mishap when the
// worker dies, does not answer in time, or run returned non-zero.
Result<Answer<RingTime>> Ring(Worker& worker, Bell& bell, uint64_t number, double timeout_s);

}  // namespace roofmark::worker
