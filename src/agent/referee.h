// SPDX-License-Identifier: Apache-2.0
// How the controller has two kernels judged: the ordinary gates, side by side. The interface is
// what tests replace; live_referee.h is the real one.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/verdict.h"

namespace roofmark::agent {

struct Match {
  Verdict incumbent;
  Verdict challenger;  // samples_ns of both are pairs, in order
};

enum class Depth {
  kScreen,   // few samples: may refuse or rank, never promote
  kConfirm,  // as many as a published verdict has
};

class Referee {
 public:
  virtual ~Referee() = default;

  // Judges two kernel files of the campaign's operator on its workload in the same rounds. Every
  // match has processes, inputs and an order of its own. Errors: the machine's or the operator's.
  virtual Result<Match> Play(const std::filesystem::path& incumbent,
                             const std::filesystem::path& challenger, Depth depth) = 0;
};

}  // namespace roofmark::agent
