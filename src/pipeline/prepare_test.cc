// SPDX-License-Identifier: Apache-2.0
// Workers of references that serve several operators, on the CPU.
#include "pipeline/prepare.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "base/files.h"
#include "base/testing.h"
#include "device/device.h"
#include "suite/card.h"
#include "suite/make_workload.h"
#include "suite/suite.h"

namespace roofmark::pipeline {
namespace {

const fs::path kOperators = fs::path(ROOFMARK_SOURCE_DIR) / "operators";

// The first small workload of an operator in this folder.
class Small {
 public:
  explicit Small(const fs::path& folder)
      : op_(std::make_unique<Operator>(*suite::ReadOperator(folder))) {
    const auto small = std::ranges::find(op_->shapes, Tier::kSmall, &Shape::tier);
    workload_ = *suite::MakeWorkload(*op_, *small);
  }
  const Operator& op() const { return *op_; }
  const Workload& workload() const { return workload_; }

 private:
  std::unique_ptr<Operator> op_;  // what the workload points to
  Workload workload_;
};

class ReferencesTest : public ::testing::Test {
 protected:
  ReferencesTest() : device_(*device::OpenCpu()) {}

  // The first input that this reference draws from a seed.
  Result<std::string> Draw(gate::Reference* reference, const Small& small) {
    const auto arena = TRY(device_->MakeArena(device::LayOut(small.workload().inputs)));
    TRY(arena->Poison());
    TRY(reference->Map("in0", *arena));
    const std::array draws = {gate::Draw{.arena = "in0", .seed = 7}};
    TRY(reference->Inputs(draws, small.workload(), "typical"));
    TRY(reference->Unmap("in0"));
    const device::TensorPlace& place = arena->layout().places.front();
    return arena->Read(place.offset, place.tensor.Bytes());
  }

  std::unique_ptr<device::Device> device_;
  References references_{DeviceKind::kCpu};
};

TEST_F(ReferencesTest, OneWorkerServesTheOperatorsThatComeWithRoofmarkOneAfterTheOther) {
  const Small norm(kOperators / "rms_norm");
  const Small gate(kOperators / "silu_and_mul");
  const auto first = references_.Get(norm.op());
  ASSERT_THAT(first, IsOk());
  const auto drawn = Draw(*first, norm);
  const auto second = references_.Get(gate.op());
  ASSERT_THAT(second, IsOk());
  EXPECT_EQ(*second, *first);
  EXPECT_THAT(Draw(*second, gate), IsOk());
  // What another operator did there in between changes nothing.
  const auto again = references_.Get(norm.op());
  ASSERT_THAT(again, IsOk());
  EXPECT_TRUE(*Draw(*again, norm) == *drawn);
  auto fresh = gate::Reference::Start(norm.op(), DeviceKind::kCpu);
  ASSERT_THAT(fresh, IsOk());
  EXPECT_TRUE(*Draw(&*fresh, norm) == *drawn);
}

TEST_F(ReferencesTest, AUsersOperatorHasAWorkerOfItsOwn) {
  const auto elsewhere = TempDir::Make("roofmark-operator");
  ASSERT_THAT(elsewhere, IsOk());
  for (const char* name : {"rms_norm", "silu_and_mul"}) {
    fs::copy(kOperators / name, elsewhere->path() / name, fs::copy_options::recursive);
  }
  const Small shipped(kOperators / "rms_norm");
  const Small own(elsewhere->path() / "rms_norm");
  const Small other(elsewhere->path() / "silu_and_mul");
  auto reference = gate::Reference::Start(own.op(), DeviceKind::kCpu);
  ASSERT_THAT(reference, IsOk());
  EXPECT_TRUE(reference->Serves(own.op()));
  EXPECT_FALSE(reference->Serves(other.op()));
  EXPECT_FALSE(reference->Serves(shipped.op()));
  EXPECT_THAT(Draw(&*reference, own), IsOk());
}

TEST_F(ReferencesTest, AReferenceThatDoesNotLoadIsAnErrorAndItsWorkerIsNotKept) {
  const auto elsewhere = TempDir::Make("roofmark-operator");
  ASSERT_THAT(elsewhere, IsOk());
  fs::copy(kOperators / "rms_norm", elsewhere->path() / "rms_norm", fs::copy_options::recursive);
  const fs::path file = elsewhere->path() / "rms_norm/reference.py";
  const auto right = ReadFile(file);
  ASSERT_THAT(WriteFile(file, "raise RuntimeError('not today')\n"), IsOk());
  const Small own(elsewhere->path() / "rms_norm");
  EXPECT_THAT(references_.Get(own.op()), HasError(ErrorKind::kInput, "not today"));
  ASSERT_THAT(WriteFile(file, *right), IsOk());
  EXPECT_THAT(references_.Get(own.op()), IsOk());
}

}  // namespace
}  // namespace roofmark::pipeline
