// SPDX-License-Identifier: Apache-2.0
// Writes what a meter would say about a batch, for tests of whatever reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "device/cuda_stage.h"

namespace roofmark::gate {

class ScriptedMeter {
 public:
  static constexpr int64_t kKernel = 0;
  static constexpr int64_t kMemcpy = 1;
  static constexpr int64_t kMemset = 2;

  explicit ScriptedMeter(const std::string& stage_sha256) {
    const int64_t stage = Module(stage_sha256, "/roofmark/roofmark");
    hold_ = Name(device::kStageHold, {stage});
    flush_ = Name(device::kStageFlush, {stage});
    mark_ = Name(device::kStageMark, {stage});
    touch_ = Name(device::kStageTouch, {stage});
    probe_ = Name(device::kStageProbe, {stage});
    warm_ = Name(device::kStageWarm, {stage});
  }

  int64_t Module(const std::string& sha256, const std::string& loader) {
    modules_.Push(Json::MakeObject()
                      .Set("sha256", sha256)
                      .Set("loader", loader)
                      .Set("callers", Json::MakeArray().Push(loader))
                      .Set("bytes", 100));
    return static_cast<int64_t>(modules_.array().size()) - 1;
  }
  int64_t Name(const std::string& name, const std::vector<int64_t>& modules) {
    Json indices = Json::MakeArray();
    for (const int64_t module : modules) indices.Push(module);
    names_.Push(Json::MakeObject().Set("name", name).Set("modules", std::move(indices)));
    return static_cast<int64_t>(names_.array().size()) - 1;
  }
  // `launch` is its place in the order of launches, `bytes` those that a copy moves.
  void Operation(int64_t kind, int64_t name, int64_t start, int64_t end, int64_t stream = 7,
                 int64_t launch = 0, int64_t bytes = 0) {
    operations_.Push(Json::MakeArray()
                         .Push(kind)
                         .Push(name)
                         .Push(start)
                         .Push(end)
                         .Push(stream)
                         .Push(launch)
                         .Push(bytes));
  }

  // The stage of `calls` calls, call i's marks at Begin(i) and Begin(i) + 20 us.
  void Stage(int64_t calls) {
    Operation(kKernel, hold_, 0, 500'000);
    for (int64_t i = 0; i < calls; ++i) {
      Operation(kKernel, flush_, Begin(i) - 40'000, Begin(i) - 2'000);
      Operation(kKernel, mark_, Begin(i), Begin(i) + 1'000, 7, Launch(i));
      Operation(kKernel, mark_, Begin(i) + 20'000, Begin(i) + 21'000, 7, Launch(i) + 50);
    }
    Operation(kKernel, flush_, Begin(calls) - 40'000, Begin(calls) - 2'000);
  }
  // Ahead of a call, whose flush comes twice then.
  void Probe(int64_t call) {
    Operation(kKernel, flush_, Begin(call) - 78'000, Begin(call) - 50'000);
    Operation(kKernel, touch_, Begin(call) - 49'000, Begin(call) - 48'000);
    Operation(kKernel, probe_, Begin(call) - 47'000, Begin(call) - 44'000);
  }
  // The stage's kernel that warms an operand, `after` nanoseconds behind the first mark of a call.
  void Warm(int64_t call, int64_t after) {
    Operation(kKernel, warm_, Begin(call) + after, Begin(call) + after + 500);
  }
  // The place of a call's first mark in the order of launches; its second comes 50 later.
  static int64_t Launch(int64_t call) { return 100 + call * 100; }
  static int64_t Begin(int64_t call) { return 1'000'000 + call * 100'000; }

  Json Report() const {
    return Json::MakeObject()
        .Set("fault", fault)
        .Set("dropped", dropped)
        .Set("outside", outside)
        .Set("outside_name", outside > 0 ? "kernel" : "")
        .Set("conditionals", conditionals)
        .Set("module_count", 1)
        .Set("modules", modules_)
        .Set("names", names_)
        .Set("operations", operations_);
  }

  std::string fault;
  int64_t dropped = 0;
  int64_t outside = 0;
  int64_t conditionals = 0;

 private:
  Json modules_ = Json::MakeArray();
  Json names_ = Json::MakeArray();
  Json operations_ = Json::MakeArray();
  int64_t hold_ = 0;
  int64_t flush_ = 0;
  int64_t mark_ = 0;
  int64_t touch_ = 0;
  int64_t probe_ = 0;
  int64_t warm_ = 0;
};

}  // namespace roofmark::gate
