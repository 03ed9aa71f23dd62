// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_stopwatch.h"

#include <chrono>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "base/testing.h"
#include "device/fake_device.h"
#include "gate/scripted_meter.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kCubin = "pretend this is a cubin";

// What a stage finds: lines of operands that took so many cycles each.
Json Findings(int64_t set_aside, const std::vector<int64_t>& operands, size_t controls) {
  const auto numbers = [](const std::vector<int64_t>& values) {
    return Json(Json::Array(values.begin(), values.end()));
  };
  return Json::MakeObject()
      .Set("set_aside", set_aside)
      .Set("policies", int64_t{0})
      .Set("joined_ns", Json::MakeArray())
      .Set("probe", Json::MakeObject()
                        .Set("operands", numbers(operands))
                        .Set("hits", numbers(std::vector<int64_t>(controls, 300)))
                        .Set("misses", numbers(std::vector<int64_t>(controls, 800))));
}

// Answers each phase of a batch from a script and records what it was asked.
class ScriptedWorker final : public worker::Worker {
 public:
  Result<void> Send(const Json& request, std::span<const int>) override {
    asked.push_back(request);
    return {};
  }
  Result<worker::Answer<Json>> Receive(double) override {
    const std::string phase = *asked.back().String("phase");
    Json reply = Json::MakeObject().Set("ok", true);
    if (phase == "queue") made = !*asked.back().Bool("skip");
    if (phase == "queue" && on_queue) on_queue(!made);
    if (phase == "go") {
      if (on_go) on_go();
      reply.Set("held", held);
    }
    if (phase == "read") {
      Json events = Json::MakeArray();
      for (const double event : event_ns) events.Push(event);
      reply.Set("event_ns", std::move(events));
      if (has_stage) reply.Set("stage", made ? stage : empty_stage.value_or(stage));
      if (has_meter) reply.Set("meter", meter);
    }
    return worker::Answer<Json>(std::move(reply));
  }
  std::optional<int64_t> AddressOf(std::string_view arena) const override {
    return arena == "in0" ? 0x10000000 : 0x20000000;
  }
  bool alive() const override { return true; }
  pid_t pid() const override { return 1; }
  std::string Log() override { return ""; }
  const std::string& level() const override { return level_; }
  const Json& versions() const override { return versions_; }

  std::vector<Json> asked;
  std::vector<double> event_ns = {6'000, 6'100};
  Json meter = Json::MakeObject();
  bool has_meter = true;
  Json stage = Findings(0, {}, 0);
  std::optional<Json> empty_stage;  // of the batch without calls, where it is another
  bool made = true;                 // which of the two was queued last
  bool has_stage = true;
  bool held = true;
  std::function<void()> on_go;
  std::function<void(bool)> on_queue;

 private:
  std::string level_;
  Json versions_ = Json::MakeObject();
};

class CudaStopwatchTest : public testing::Test {
 protected:
  CudaStopwatchTest() : meter_(meter::CubinHash(kCubin)) {
    own_ = meter_.Name("own_kernel", {meter_.Module("own", "/candidate/candidate.so")});
    meter_.Stage(2);
    const std::vector<Tensor> tensors = {{.name = "y", .dtype = DType::kBF16, .sizes = {64}}};
    out_ = *device_.MakeArena(device::LayOut(tensors));
    EXPECT_THAT(out_->Poison(), IsOk());
    worker_.on_go = [this] { Write(); };
    EXPECT_THAT(stopwatch_->Prepare(worker_, {.lane = Lane::kCuda, .own_code = {"own"}}), IsOk());
  }
  void Write() {
    EXPECT_THAT(out_->Write(out_->layout().places[0].offset, std::string(128, '\1')), IsOk());
  }
  void Kernel(int64_t call, int64_t after, int64_t length) {
    const int64_t start = ScriptedMeter::Begin(call) + after;
    meter_.Operation(ScriptedMeter::kKernel, own_, start, start + length, 7,
                     ScriptedMeter::Launch(call) + 1);
  }
  Result<worker::Answer<BatchTimes>> Time() {
    worker_.meter = meter_.Report();
    const std::vector<TimedCall> calls = {{"in0", "out0", in_.get(), out_.get()},
                                          {"in1", "out1", in_.get(), out_.get()}};
    return stopwatch_->Time(worker_, calls, "workspace", 5);
  }

  ScriptedMeter meter_;
  int64_t own_ = 0;
  device::FakeDevice device_;
  std::unique_ptr<device::Arena> in_;  // none = what lies in it is not asked about
  std::unique_ptr<device::Arena> out_;
  ScriptedWorker worker_;
  std::unique_ptr<Stopwatch> stopwatch_ = MakeCudaStopwatch(kCubin, 1 << 20);
};

TEST_F(CudaStopwatchTest, PublishesTheDeviceSpanOfEachCall) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  const auto times = Time();
  ASSERT_THAT(times, IsOk());
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->time_ns, ElementsAre(3'000, 4'000));
  EXPECT_THAT((*times)->event_ns, ElementsAre(6'000, 6'100));
  EXPECT_EQ((*times)->host_ns.size(), 1U);
  EXPECT_DOUBLE_EQ((*times)->owner_ns[static_cast<size_t>(Owner::kOwn)], 7'000);
  EXPECT_THAT((*times)->kernels, ElementsAre("own 100.0 % own_kernel"));
}

TEST_F(CudaStopwatchTest, ForeignKernelsAreNamedWithTheirLibrary) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ASSERT_THAT(stopwatch_->Prepare(worker_, {.lane = Lane::kCuda}), IsOk());
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_GT((*times)->owner_ns[static_cast<size_t>(Owner::kPrebuilt)], 0);
  EXPECT_THAT((*times)->kernels, ElementsAre(HasSubstr("own_kernel (")));
}

TEST_F(CudaStopwatchTest, CountsWhatKernelsLaunchForTheCandidateThatWasCompiledHere) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ASSERT_THAT(
      stopwatch_->Prepare(worker_,
                          {.lane = Lane::kCuda, .own_code = {"own"}, .launches_from_device = true}),
      IsOk());
  auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->time_ns, ElementsAre(18'000, 18'000));
  EXPECT_DOUBLE_EQ((*times)->owner_ns[static_cast<size_t>(Owner::kOwn)], 36'000);
  EXPECT_THAT((*times)->kernels,
              ElementsAre("own 80.6 % what kernels launched", "own 19.4 % own_kernel"));
  EXPECT_THAT((*times)->level, HasSubstr("kernels launch kernels"));
  // A module beside it that no compilation explains could be what they launched.
  meter_.Module("another", "/candidate/candidate.so");
  times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_DOUBLE_EQ((*times)->owner_ns[static_cast<size_t>(Owner::kUnknown)], 29'000);
}

TEST_F(CudaStopwatchTest, TellsWhichCodeRanAsTheLanguages) {
  own_ = meter_.Name("gate", {meter_.Module("cubin", "/scratch/.triton/K/cuda_utils.so")});
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ASSERT_THAT(stopwatch_->Prepare(worker_, {.lane = Lane::kTriton, .jit_kernels = {"gate"}}),
              IsOk());
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->dsl_code, ElementsAre("cubin"));
}

TEST_F(CudaStopwatchTest, KeepsTheProvenanceOfWorkersThatTakeTurns) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ScriptedWorker other;
  ASSERT_THAT(stopwatch_->Prepare(other, {.lane = Lane::kTorch}), IsOk());
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_DOUBLE_EQ((*times)->owner_ns[static_cast<size_t>(Owner::kOwn)], 7'000);
}

TEST_F(CudaStopwatchTest, RunsTheRealBatchBeforeTheEmptyOne) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ASSERT_THAT(Time(), IsOk());
  std::vector<std::string> phases;
  for (const Json& request : worker_.asked) {
    std::string phase = *request.String("phase");
    if (phase == "queue") phase += *request.Bool("skip") ? " empty" : " real";
    phases.push_back(std::move(phase));
  }
  EXPECT_THAT(phases,
              ElementsAre("stage", "queue real", "go", "read", "queue empty", "go", "read"));
}

TEST_F(CudaStopwatchTest, WithoutAMeterPublishesEventsAndSaysSo) {
  worker_.has_meter = false;
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_EQ((*times)->time_ns, (*times)->event_ns);
  EXPECT_THAT((*times)->level, HasSubstr("no CUPTI"));
}

TEST_F(CudaStopwatchTest, RefusesACallThatRanNothing) {
  Kernel(0, 2'000, 3'000);
  const auto times = Time();
  ASSERT_FALSE(times->has_value());
  EXPECT_EQ(times->error().outcome, Outcome::kClocksDisagree);
  EXPECT_THAT(times->error().reason, HasSubstr("call 1"));
}

TEST_F(CudaStopwatchTest, CatchesAWorkerThatSaysDoneBeforeItsOutputsAreWritten) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.on_go = nullptr;
  const auto times = Time();
  ASSERT_FALSE(times->has_value());
  EXPECT_EQ(times->error().outcome, Outcome::kUnsynchronised);
}

TEST_F(CudaStopwatchTest, RefusesRepliesWithTooFewEvents) {
  worker_.event_ns = {1};
  const auto times = Time();
  ASSERT_FALSE(times->has_value());
  EXPECT_THAT(times->error().reason, HasSubstr("events are missing"));
}

TEST_F(CudaStopwatchTest, PublishesTheJudgesClockWhenTheCallWaitsForTheDevice) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.held = false;
  // Its meter says 3 us a call; the judge sees milliseconds.
  worker_.on_queue = [](bool skip) {
    if (!skip) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_TRUE((*times)->host_ns.empty());
  ASSERT_EQ((*times)->time_ns.size(), 1U);
  EXPECT_GT((*times)->time_ns[0], 1e6);
  EXPECT_THAT((*times)->level, HasSubstr("by the judge's clock"));
}

TEST_F(CudaStopwatchTest, HoldsAWorkerNoMoreWhoseCallsWait) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.held = false;
  ASSERT_THAT(Time(), IsOk());
  ASSERT_THAT(Time(), IsOk());
  std::vector<int64_t> holds;
  for (const Json& request : worker_.asked) {
    if (const auto hold = request.Int("hold_ns")) holds.push_back(*hold);
  }
  ASSERT_EQ(holds.size(), 4U);
  EXPECT_GT(holds.front(), 0);
  EXPECT_EQ(holds.back(), 0);
}

TEST_F(CudaStopwatchTest, AnOutputThatIsThereBeforeItsCallRanWasWrittenByOtherMeans) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.on_queue = [this](bool skip) {
    if (!skip) Write();
  };
  const auto times = Time();
  ASSERT_FALSE(times->has_value());
  EXPECT_EQ(times->error().outcome, Outcome::kUnsynchronised);
  EXPECT_THAT(times->error().reason, HasSubstr("before its call ran"));
}

TEST_F(CudaStopwatchTest, WorkBetweenBatchesIsSeen) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  meter_.outside = 3;
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->unsynchronised, HasSubstr("3 operations ran on the device outside"));
}

TEST_F(CudaStopwatchTest, ProbesLinesOfOperandsInTheMadeAndTheEmptyBatchAlike) {
  meter_.Probe(0);
  meter_.Probe(1);
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  const std::vector<Tensor> tensors = {{.name = "x", .dtype = DType::kBF16, .sizes = {1 << 16}}};
  in_ = *device_.MakeArena(device::LayOut(tensors));
  worker_.stage = Findings(0, std::vector<int64_t>(2 * device::kProbedLines, 310), 64);
  const auto times = Time();
  ASSERT_THAT(times, IsOk());
  ASSERT_TRUE(times->has_value());
  EXPECT_EQ((*times)->coldness.sampled, 64);
  EXPECT_EQ((*times)->coldness.warm, 64);
  std::vector<std::string> probed;
  for (const Json& request : worker_.asked) {
    if (*request.String("phase") != "queue") continue;
    const Json& first = (*request.ArrayAt("calls"))->array()[0];
    ASSERT_NE(first.Find("probe"), nullptr);
    EXPECT_EQ(*first.Find("probe")->Int("base"), 0x10000000);
    EXPECT_EQ(first.Find("warm"), nullptr);
    probed.push_back(first.Find("probe")->Dump());
  }
  ASSERT_EQ(probed.size(), 2U);
  EXPECT_EQ(probed[0], probed[1]);
}

TEST_F(CudaStopwatchTest, NamesOperandsThatAreWarmByContractAndProbesOthersOnly) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  const std::vector<Tensor> tensors = {
      {.name = "w", .dtype = DType::kBF16, .sizes = {1000}, .residency = Residency::kWarm}};
  in_ = *device_.MakeArena(device::LayOut(tensors));
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  const Json& second = (*worker_.asked[1].ArrayAt("calls"))->array()[1];
  EXPECT_EQ(second.Find("probe"), nullptr);
  EXPECT_EQ(second.Find("warm")->Dump(),
            Json::MakeArray()
                .Push(Json::MakeArray()
                          .Push(int64_t{0x20000000} + in_->layout().places[0].offset)
                          .Push(int64_t{2000}))
                .Dump());
}

TEST_F(CudaStopwatchTest, RefusesFindingsThatLackLines) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.stage = Findings(0, {300}, 32);
  const auto times = Time();
  ASSERT_FALSE(times->has_value());
  EXPECT_EQ(times->error().outcome, Outcome::kClocksDisagree);
  worker_.has_stage = false;
  EXPECT_FALSE(Time()->has_value());
}

TEST_F(CudaStopwatchTest, CacheThatStaysSetAsideOutlivesTheCall) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.stage = Findings(int64_t{32} << 20, {}, 0);
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->unsynchronised, HasSubstr("set aside for persisting lines"));
}

TEST_F(CudaStopwatchTest, AnAccessPolicyThatStaysOnTheStreamOutlivesTheCall) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  worker_.stage.Set("policies", int64_t{1});
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->unsynchronised, HasSubstr("access policy for the L2 cache"));
  EXPECT_THAT((*times)->unsynchronised, HasSubstr("num_bytes = 0"));
}

Json Joined(double first, double second) {
  return Findings(0, {}, 0).Set("joined_ns", Json::MakeArray().Push(first).Push(second));
}

TEST_F(CudaStopwatchTest, StreamsThatGoOnWhenTheCallsIsDoneAreNotItsOwnAffair) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  ASSERT_THAT(
      stopwatch_->Prepare(worker_,
                          {.lane = Lane::kCuda, .own_code = {"own"}, .launches_from_device = true}),
      IsOk());
  worker_.stage = Joined(44'000, 45'000);
  worker_.empty_stage = Joined(2'000, 2'100);
  auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->unsynchronised, HasSubstr("other streams went on for 42"));
  // A wait for streams that are done takes little.
  worker_.stage = Joined(3'500, 3'600);
  times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_EQ((*times)->unsynchronised, "");
}

TEST_F(CudaStopwatchTest, WaitsForAllStreamsWhereKernelsLaunchKernelsAndOnlyThere) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  const auto joins = [this] {
    EXPECT_THAT(Time(), IsOk());
    std::vector<bool> asked;
    for (const Json& request : worker_.asked) {
      if (const auto join = request.Bool("join")) asked.push_back(*join);
    }
    worker_.asked.clear();
    return asked;
  };
  EXPECT_THAT(joins(), ElementsAre(false, false));
  meter_.conditionals = 1;
  EXPECT_THAT(joins(), ElementsAre(false, false));
  EXPECT_THAT(joins(), ElementsAre(true, true));
  ASSERT_THAT(stopwatch_->Prepare(worker_, {.lane = Lane::kCuda, .launches_from_device = true}),
              IsOk());
  EXPECT_THAT(joins(), ElementsAre(true, true));
}

TEST_F(CudaStopwatchTest, ACallWhoseGraphsHaveConditionalNodesLastsAsLongAsItsEvents) {
  Kernel(0, 2'000, 100);
  Kernel(1, 2'000, 100);
  meter_.conditionals = 1;
  worker_.event_ns = {9'000, 9'500};
  const auto times = Time();
  ASSERT_TRUE(times->has_value());
  EXPECT_THAT((*times)->time_ns, ElementsAre(6'000, 6'500));
  EXPECT_THAT((*times)->device_ns, ElementsAre(6'000, 6'500));
  EXPECT_DOUBLE_EQ((*times)->owner_ns[static_cast<size_t>(Owner::kOwn)], 12'500);
  EXPECT_THAT((*times)->level, HasSubstr("conditional nodes"));
}

TEST_F(CudaStopwatchTest, RemembersThatOtherWorkersShowedHitsClearly) {
  meter_.Probe(0);
  meter_.Probe(1);
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 4'000);
  const std::vector<Tensor> tensors = {{.name = "x", .dtype = DType::kBF16, .sizes = {1 << 16}}};
  in_ = *device_.MakeArena(device::LayOut(tensors));
  worker_.stage = Findings(0, std::vector<int64_t>(2 * device::kProbedLines, 790), 64);
  EXPECT_EQ((*Time())->coldness.clear_elsewhere, 0);
  EXPECT_EQ((*Time())->coldness.clear_elsewhere, 0);
  ASSERT_THAT(stopwatch_->Prepare(worker_, {.lane = Lane::kCuda, .own_code = {"own"}}), IsOk());
  EXPECT_EQ((*Time())->coldness.clear_elsewhere, 2);
}

TEST_F(CudaStopwatchTest, DisturbsARandomPartOfTheGpu) {
  std::set<int64_t> percents;
  for (int i = 0; i < 20; ++i) {
    const auto disturbed = stopwatch_->Disturb(worker_);
    ASSERT_THAT(disturbed, IsOk());
    ASSERT_TRUE(disturbed->has_value());
    EXPECT_NE(**disturbed, nullptr);
    EXPECT_EQ(*worker_.asked.back().String("phase"), "disturb");
    EXPECT_GT(*worker_.asked.back().Int("limit_ns"), 0);
    percents.insert(*worker_.asked.back().Int("percent"));
  }
  EXPECT_GT(percents.size(), 5U);
  EXPECT_GE(*percents.begin(), 1);
  EXPECT_LE(*percents.rbegin(), 99);
}

Clocks At(double device, double event, double host) {
  const auto exactly = [](double ns) { return Interval{ns, ns, ns}; };
  return {.device = exactly(device), .event = exactly(event), .host = exactly(host)};
}

TEST(CudaClocks, AgreeWhenEventsReadTheirOffsetMore) {
  EXPECT_EQ(CudaClockFault(At(2'000, 4'350, 3'500), 2'000), "");
  EXPECT_EQ(CudaClockFault(At(100'000, 102'350, 101'000), 100'000), "");
}

TEST(CudaClocks, EventsUnderTheSpanAreAFault) {
  EXPECT_THAT(CudaClockFault(At(100'000, 5'000, 101'000), 100'000), HasSubstr("another stream"));
}

TEST(CudaClocks, EventsFarOverTheSpanAreAFault) {
  EXPECT_THAT(CudaClockFault(At(10'000, 100'000, 11'000), 10'000), HasSubstr("the meter saw"));
}

TEST(CudaClocks, ACallThatWaitsIsHeldAgainstItsPublishedTime) {
  EXPECT_EQ(CudaClockFault(At(10'000, 40'000, 0), 45'000), "");
  EXPECT_EQ(CudaClockFault(At(71'000, 91'000, 0), 274'000), "");
  EXPECT_THAT(CudaClockFault(At(60'000, 63'000, 0), 493'000), HasSubstr("the judge's clock reads"));
}

TEST(CudaClocks, NoTimeMayLieUnderTheJudgesClock) {
  EXPECT_THAT(CudaClockFault(At(10'000, 12'350, 100'000), 10'000), HasSubstr("the judge's clock"));
}

}  // namespace
}  // namespace roofmark::gate
