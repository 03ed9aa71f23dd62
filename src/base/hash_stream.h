// SPDX-License-Identifier: Apache-2.0
// SHA-256 of what is never in memory as a whole.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace roofmark {

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  void Add(const void* bytes, size_t size);
  // Lower-case hexadecimal, as Sha256Hex of all that was added. Requires: called once.
  std::string Hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace roofmark
