// SPDX-License-Identifier: Apache-2.0
//
// Reads the clock and its own memory map in its call, to write them to its log.

#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  const auto begin = std::chrono::steady_clock::now();
  Right(*args, Out(args));
  std::ifstream maps("/proc/self/maps");
  std::string line;
  std::getline(maps, line);
  std::cerr << line << (std::chrono::steady_clock::now() - begin).count() << "\n";
  return 0;
}
