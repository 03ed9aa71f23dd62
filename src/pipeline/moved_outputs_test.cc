// SPDX-License-Identifier: Apache-2.0
// A contestant in a session of its own on the CPU, whose outputs move between calls
// (gate::Contestant cannot be tested beside its source: operators are read a layer above).
#include <algorithm>
#include <memory>
#include <utility>

#include "base/testing.h"
#include "candidate/build.h"
#include "device/device.h"
#include "gate/contestant.h"
#include "gate/output_check.h"
#include "gate/reference.h"
#include "gate/session.h"
#include "suite/card.h"
#include "suite/make_workload.h"

namespace roofmark::pipeline {
namespace {

using gate::Contestant;
using gate::Reference;
using gate::Session;

const fs::path kSource = ROOFMARK_SOURCE_DIR;

TEST(Contestant, ComputesTheSameAfterItsOutputsHaveMoved) {
  const Result<Operator> op = suite::ReadOperator(kSource / "operators/rms_norm");
  ASSERT_THAT(op, IsOk());
  const auto small = std::ranges::find(op->shapes, Tier::kSmall, &Shape::tier);
  const Result<Workload> workload = suite::MakeWorkload(*op, *small);
  ASSERT_THAT(workload, IsOk());
  const auto device = device::OpenCpu();
  ASSERT_THAT(device, IsOk());
  auto reference = Reference::Start(*op, DeviceKind::kCpu);
  ASSERT_THAT(reference, IsOk());
  const auto session = Session::Open(*workload, **device, *reference, 1);
  ASSERT_THAT(session, IsOk());
  const auto candidate = candidate::ReadCandidate(kSource / "candidates/rms_norm/rms_norm.cc");
  ASSERT_THAT(candidate, IsOk());
  const auto contestant = Contestant::Make(*candidate, *op, (*device)->info());
  ASSERT_THAT(contestant, IsOk());
  ASSERT_THAT((*contestant)->Compile(), IsOk());
  ASSERT_TRUE((*contestant)->StartVerdict(*workload));
  ASSERT_THAT((*session)->Refill(0, "typical"), IsOk());
  EXPECT_TRUE(*(*contestant)->Begin(*workload, **device, std::as_const(**session).inputs(), 10));
  ASSERT_THAT((*session)->Expect(0), IsOk());
  for (int place = 0; place < 3; ++place) {
    const device::Arena* const before = &(*contestant)->output(0);
    ASSERT_TRUE(*(*contestant)->MoveOutputs(**device));
    EXPECT_NE(&(*contestant)->output(0), before);
    ASSERT_THAT(gate::PrepareSlot(**session, **contestant, 0), IsOk());
    ASSERT_TRUE(*(*contestant)->Call(0));
    EXPECT_TRUE(*gate::CheckValues(**session, **contestant, 0, Gate::kCorrectness, {}));
  }
  EXPECT_THAT((*contestant)->End(), IsOk());
  EXPECT_THAT((*session)->Close(), IsOk());
}

}  // namespace
}  // namespace roofmark::pipeline
