// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_timeline.h"

#include "base/testing.h"
#include "gate/scripted_meter.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

constexpr const char* kStage = "stage-hash";

class TimelineTest : public testing::Test {
 protected:
  TimelineTest() : meter_(kStage) {
    own_ = meter_.Name("own_kernel", {meter_.Module("own-hash", "/candidate/candidate.so")});
    meter_.Stage(2);
  }
  // A kernel that starts `after` nanoseconds behind the first mark of a call.
  void Kernel(int64_t call, int64_t after, int64_t length) {
    const int64_t start = ScriptedMeter::Begin(call) + after;
    meter_.Operation(ScriptedMeter::kKernel, own_, start, start + length, 9,
                     ScriptedMeter::Launch(call) + 1);
  }
  // A copy within the device behind the mark that ends call 0.
  void Copy(int64_t bytes, int64_t after = 22'000, int64_t length = 4'000, int64_t stream = 7) {
    const int64_t at = ScriptedMeter::Begin(0) + after;
    meter_.Operation(ScriptedMeter::kMemcpy, meter_.Name("memcpy", {}), at, at + length, stream, 0,
                     bytes);
  }
  Timeline Cut(const std::vector<int64_t>& returned = {}, size_t calls = 2,
               Children children = Children::kNone) {
    const auto report = ParseMeterReport(meter_.Report());
    EXPECT_THAT(report, IsOk());
    return CutIntoCalls(*report, kStage, calls, returned, children);
  }

  ScriptedMeter meter_;
  int64_t own_ = 0;
};

TEST_F(TimelineTest, SpansFromTheFirstStartToTheLastEndOnAnyStream) {
  Kernel(0, 2'000, 3'000);
  Kernel(0, 6'000, 4'000);
  Kernel(1, 2'000, 5'000);
  const Timeline timeline = Cut();
  EXPECT_EQ(timeline.fault, "");
  EXPECT_EQ(timeline.unsynchronised, "");
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 8'000);
  EXPECT_DOUBLE_EQ(timeline.calls[1].device_ns, 5'000);
}

TEST_F(TimelineTest, WhereKernelsLaunchKernelsACallEndsWithTheMarkBehindIt) {
  Kernel(0, 2'000, 3'000);
  const Timeline timeline = Cut({}, 2, Children::kUnreported);
  EXPECT_EQ(timeline.unsynchronised, "");
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 18'000);
  EXPECT_DOUBLE_EQ(timeline.calls[0].unseen_ns, 15'000);
  EXPECT_DOUBLE_EQ(timeline.calls[1].device_ns, 0);
}

TEST_F(TimelineTest, WhatMayLaunchKernelsIsLaunchedBetweenTheMarksOfItsCall) {
  Kernel(0, 2'000, 3'000);
  // On another stream and in time, but launched when the mark behind call 1 was.
  const int64_t at = ScriptedMeter::Begin(0) + 4'000;
  meter_.Operation(ScriptedMeter::kKernel, own_, at, at + 1'000, 9, ScriptedMeter::Launch(1) + 60);
  EXPECT_EQ(Cut().unsynchronised, "");
  EXPECT_THAT(Cut({}, 2, Children::kUnreported).unsynchronised,
              HasSubstr("was not launched by its run()"));
}

TEST_F(TimelineTest, MeasuresTheFlushesBehindTheCalls) {
  EXPECT_DOUBLE_EQ(Cut().flush_ns, 38'000);
}

TEST_F(TimelineTest, AProbeAheadOfACallIsNoneOfItsWork) {
  meter_.Probe(1);
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 5'000);
  const Timeline timeline = Cut();
  EXPECT_EQ(timeline.fault, "");
  EXPECT_EQ(timeline.unsynchronised, "");
  EXPECT_DOUBLE_EQ(timeline.calls[1].device_ns, 5'000);
  // Of the two flushes behind call 0 the first wrote back what it left: 28 us, and 38 behind
  // call 1.
  EXPECT_DOUBLE_EQ(timeline.flush_ns, 33'000);
}

TEST_F(TimelineTest, WorkThatRunsIntoTheFlushOfAProbeIsLate) {
  meter_.Probe(1);
  Kernel(0, 2'000, 22'500);
  Kernel(1, 2'000, 5'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("still running"));
}

TEST_F(TimelineTest, WarmingIsTheStagesAheadOfACallAndTheCandidatesWithinIt) {
  Kernel(0, 2'000, 3'000);
  Kernel(1, 2'000, 3'000);
  meter_.Warm(0, -1'500);
  EXPECT_DOUBLE_EQ(Cut().calls[0].device_ns, 3'000);
  meter_.Warm(1, 8'000);
  EXPECT_DOUBLE_EQ(Cut().calls[1].device_ns, 6'500);
}

TEST_F(TimelineTest, AnEmptyCallTakesNoTime) {
  Kernel(0, 2'000, 3'000);
  EXPECT_EQ(Cut().calls[1].device_ns, 0);
  EXPECT_TRUE(Cut().calls[1].operations.empty());
}

TEST_F(TimelineTest, ReportsWorkThatStartsWhenItsStreamWasDone) {
  Kernel(0, 30'000, 1'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("own_kernel started 10000 ns after the stream of "
                                              "call 0 was done"));
}

TEST_F(TimelineTest, ReportsWorkThatIsStillRunningInTheNextFlush) {
  Kernel(0, 2'000, 60'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("was still running"));
}

TEST_F(TimelineTest, ReportsWorkDuringTheNextFlush) {
  Kernel(0, 70'000, 1'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("followed by the next flush"));
}

TEST_F(TimelineTest, ReportsWorkBeforeTheFirstCall) {
  Kernel(0, -200'000, 1'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("before the first call"));
}

TEST_F(TimelineTest, LetsTheWorkerCopyReturnedOutputsBehindTheCall) {
  Kernel(0, 2'000, 3'000);
  Copy(4096);
  Copy(512, 27'000, 1'000);
  const Timeline timeline = Cut({512, 4096});
  EXPECT_EQ(timeline.unsynchronised, "");
  EXPECT_DOUBLE_EQ(timeline.calls[0].device_ns, 3'000);
  EXPECT_DOUBLE_EQ(timeline.calls[0].settle_ns, 5'000);
  EXPECT_THAT(Cut().unsynchronised, HasSubstr("memcpy"));
}

TEST_F(TimelineTest, EachReturnedOutputIsCopiedOnceAndInItsSize) {
  Copy(4096);
  EXPECT_THAT(Cut({4095}).unsynchronised, HasSubstr("memcpy started"));
  EXPECT_EQ(Cut({4096}).unsynchronised, "");
  Copy(4096, 27'000);
  EXPECT_THAT(Cut({4096}).unsynchronised, HasSubstr("memcpy started"));
  EXPECT_EQ(Cut({4096, 4096}).unsynchronised, "");
}

TEST_F(TimelineTest, ACopyOfAnOutputEndsBeforeTheNextFlush) {
  Copy(4096, 22'000, 60'000);
  EXPECT_NE(Cut({4096}).unsynchronised, "");
}

TEST_F(TimelineTest, ACopyOfAnOutputIsOnTheStreamOfTheCalls) {
  Copy(4096, 22'000, 4'000, 9);
  EXPECT_NE(Cut({4096}).unsynchronised, "");
}

// What is not told to be within the device has no bytes.
TEST_F(TimelineTest, ACopyFromElsewhereSettlesNothing) {
  Copy(0);
  EXPECT_NE(Cut({4096}).unsynchronised, "");
}

TEST_F(TimelineTest, AKernelOfTheFrameworksThatCopiesBehindTheCallIsWork) {
  const int64_t name = meter_.Name("direct_copy_kernel_cuda",
                                   {meter_.Module("torch", "/usr/lib/torch/libtorch_cuda.so")});
  const int64_t at = ScriptedMeter::Begin(0) + 22'000;
  meter_.Operation(ScriptedMeter::kKernel, name, at, at + 4'000);
  EXPECT_THAT(Cut({4096}).unsynchronised, HasSubstr("direct_copy_kernel_cuda started"));
}

TEST_F(TimelineTest, LetsNothingElseRunBehindTheCall) {
  Kernel(0, 22'000, 3'000);
  EXPECT_THAT(Cut({4096}).unsynchronised, HasSubstr("own_kernel"));
}

TEST_F(TimelineTest, KernelsThatOnlyBorrowTheStagesNamesAreTheCandidates) {
  ScriptedMeter meter("another-hash");
  meter.Stage(1);
  const auto report = ParseMeterReport(meter.Report());
  EXPECT_THAT(CutIntoCalls(*report, kStage, 1, {}).fault, HasSubstr("0 flushes"));
}

TEST_F(TimelineTest, MissingMarksAreAFault) {
  EXPECT_THAT(Cut({}, 3).fault, HasSubstr("3 flushes and 4 marks of 3 calls"));
}

TEST_F(TimelineTest, LostRecordsAreAFault) {
  meter_.dropped = 5;
  EXPECT_THAT(Cut().fault, HasSubstr("dropped 5"));
}

TEST_F(TimelineTest, PassesOnWhyNothingWasMetered) {
  meter_.fault = "no CUPTI";
  EXPECT_EQ(Cut().fault, "no CUPTI");
}

TEST(MeterReport, RefusesOperationsThatAreNoNumbers) {
  const auto json = Json::Parse(R"({"fault":"","dropped":0,"outside":0,"outside_name":"",)"
                                R"("conditionals":0,)"
                                R"("modules":[],"names":[],"operations":[[0,0,"x",1,1,1,0]]})");
  EXPECT_THAT(ParseMeterReport(*json), HasError(ErrorKind::kInput, "seven numbers"));
}

TEST(MeterReport, RefusesNamesOfModulesThatAreNotThere) {
  const auto json = Json::Parse(R"({"fault":"","dropped":0,"outside":0,"outside_name":"",)"
                                R"("conditionals":0,)"
                                R"("modules":[],"names":[{"name":"k","modules":[0]}],)"
                                R"("operations":[]})");
  EXPECT_THAT(ParseMeterReport(*json), HasError(ErrorKind::kInput, "not listed"));
}

TEST(MeterReport, RefusesTimesThatRunBackwards) {
  const auto json = Json::Parse(R"({"fault":"","dropped":0,"outside":0,"outside_name":"",)"
                                R"("conditionals":0,)"
                                R"("modules":[],"names":[{"name":"k","modules":[]}],)"
                                R"("operations":[[0,0,10,5,1,1,0]]})");
  EXPECT_THAT(ParseMeterReport(*json), HasError(ErrorKind::kInput, "out of range"));
}

}  // namespace
}  // namespace roofmark::gate
