// SPDX-License-Identifier: Apache-2.0
#include "gate/output_watch.h"

#include <cstring>

#include "base/testing.h"
#include "device/cpu_arena.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;

class OutputWatchTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_THAT(arena_->Poison(), IsOk()); }

  const device::TensorPlace& Place(size_t at) { return arena_->layout().places[at]; }
  // All elements of an output become bytes of this value.
  void Fill(size_t at, int byte) {
    std::memset(ElementAt(*arena_, Place(at), 0), byte,
                static_cast<size_t>(Place(at).tensor.Bytes()));
  }

  const std::vector<Tensor> tensors_ = {{.name = "values", .dtype = DType::kF32, .sizes = {40}},
                                        {.name = "indices", .dtype = DType::kI32, .sizes = {40}},
                                        {.name = "codes", .dtype = DType::kU8, .sizes = {40}}};
  std::unique_ptr<device::CpuArena> arena_ =
      std::move(device::CpuArena::Make(device::LayOut(tensors_))).value();
  OutputWatch watch_;
};

TEST_F(OutputWatchTest, NamesAnOutputThatIsThereBeforeItsCall) {
  EXPECT_EQ(watch_.WrittenAhead(*arena_), "");
  Fill(1, 7);
  EXPECT_THAT(watch_.WrittenAhead(*arena_), HasSubstr("indices[flat"));
}

TEST_F(OutputWatchTest, NamesAnOutputThatHoldsPoisonStill) {
  EXPECT_THAT(watch_.Unwritten(*arena_), HasSubstr("values[flat"));
  Fill(0, 1);
  EXPECT_EQ(watch_.Unwritten(*arena_), "");
}

TEST_F(OutputWatchTest, AMinusOneMayBeTheRightIndexAndTheRightCode) {
  Fill(0, 1);
  Fill(1, 0xff);
  Fill(2, 0xff);
  EXPECT_EQ(watch_.Unwritten(*arena_), "");
}

TEST_F(OutputWatchTest, SeesOneElementThatChangesAfterwards) {
  Fill(0, 1);
  ASSERT_THAT(watch_.Keep(*arena_), IsOk());
  EXPECT_EQ(watch_.Changed().value(), "");
  *ElementAt(*arena_, Place(1), 17) = std::byte{3};
  EXPECT_EQ(watch_.Changed().value(), "indices changed after run had returned");
}

}  // namespace
}  // namespace roofmark::gate
