// SPDX-License-Identifier: Apache-2.0
// A workload is operator x shape x phase with its importance, and with everything that follows from
// the shape alone already computed: tensor sizes, work and traffic.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/dtype.h"
#include "model/operator.h"
#include "model/shape.h"

namespace roofmark {

// A tensor with its sizes computed; contiguous, row-major.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  Residency residency = Residency::kCold;
  bool in_place = false;  // an output that holds the input of its name before the call

  int64_t Elements() const {
    int64_t product = 1;
    for (const int64_t size : sizes) product *= size;
    return product;
  }
  int64_t Bytes() const { return Elements() * DTypeBytes(dtype); }
};

// Arithmetic operations that the contract needs, by engine. W in the formulas.
using Work = std::array<double, kEngineCount>;

// Bytes that the contract must move at least. Q in the formulas.
struct Traffic {
  double read_bytes = 0;
  double write_bytes = 0;
  double Total() const { return read_bytes + write_bytes; }
};

// Where a weight comes from; never mixed silently.
enum class WeightLabel { kPublished, kMined, kAssumed };
std::string_view WeightLabelName(WeightLabel label);

struct Weight {
  double value = 0;  // share of the fleet's exposed GPU time, 0..1
  double low = 0;
  double high = 0;
  WeightLabel label = WeightLabel::kAssumed;
  std::string provenance;
};

struct Workload {
  const Operator* op = nullptr;  // borrowed from the suite, which outlives its workloads
  Shape shape;
  Weight weight;
  Axes axes;  // the shape's axes plus derived axes and attributes
  std::vector<Tensor> inputs;
  std::vector<Tensor> outputs;
  Work work{};
  Traffic traffic;
  double deployed_ns = 0;  // mean time of the deployed kernel in the mined profiles; 0 = unknown
  // The same by device, as the profiles call it; empty where the suite does not tell them apart.
  std::map<std::string, double> deployed_by_device;

  std::string Id() const { return op->name + "/" + shape.id; }
};

}  // namespace roofmark
