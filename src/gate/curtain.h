// SPDX-License-Identifier: Apache-2.0
// Keeps the values of a batch's inputs from its candidate until each call is due: they lie with the
// judge, and the lent arenas hold noise. A candidate that works ahead works on noise.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gate/stopwatch.h"

namespace roofmark::gate {

class Curtain {
 public:
  // Takes the inputs of these calls away. Requires: CPU arenas (CHECK), nobody reading them.
  explicit Curtain(std::span<const TimedCall> calls);
  ~Curtain();  // gives back what is still away
  Curtain(const Curtain&) = delete;
  Curtain& operator=(const Curtain&) = delete;

  // Gives one call's inputs back.
  void Raise(size_t call);

 private:
  struct Kept {
    std::span<std::byte> arena;
    std::vector<std::byte> bytes;
  };
  std::vector<Kept> kept_;
};

}  // namespace roofmark::gate
