// SPDX-License-Identifier: Apache-2.0
// How the workloads of a suite were chosen by chance, so that a score can say how much it would
// differ had others been drawn. `suite build` publishes it (suite/select_shapes.h has the design).
#pragma once

#include <map>
#include <string>

namespace roofmark {

// A workload that stands for its stratum.
struct Drawn {
  double probability = 1;  // with which the design takes it, over 0 and at most 1
  std::string stratum;     // workloads of one stratum were drawn together
};

// By workload ("rms_norm/m-decode-1f3a9c20"). What is not in it is in the suite for sure, and
// stands for itself.
using SuiteDraws = std::map<std::string, Drawn>;

}  // namespace roofmark
