// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <memory>

#include "base/testing.h"
#include "device/cpu_arena.h"
#include "device/device.h"
#include "worker/test_bed.h"
#include "worker/worker.h"

namespace roofmark::worker {
namespace {

using ::testing::HasSubstr;

// The reference of rms_norm itself, and files with faults, in one interpreter.
class ReferenceWorker : public ::testing::Test {
 protected:
  static constexpr int64_t kTokens = 7;
  static constexpr int64_t kHidden = 64;

  static void SetUpTestSuite() {
    files_ = std::make_unique<TempDir>(std::move(TempDir::Make("roofmark-test")).value());
    fs::create_directories(files_->path() / "operator");
    fs::create_directories(files_->path() / "scratch");
    fs::copy_file(fs::path(ROOFMARK_SOURCE_DIR) / "operators/rms_norm/reference.py",
                  files_->path() / "operator/reference.py");
    auto worker = StartWorker({.kind = WorkerKind::kReference,
                               .folder = files_->path() / "operator",
                               .scratch = files_->path() / "scratch"});
    ASSERT_THAT(worker, IsOk());
    worker_ = std::move(*worker);
    in_ = Lend("in", {{.name = "x", .dtype = DType::kBF16, .sizes = {kTokens, kHidden}},
                      {.name = "weight", .dtype = DType::kBF16, .sizes = {kHidden}}});
    out_ = Lend("out", {{.name = "out", .dtype = DType::kBF16, .sizes = {kTokens, kHidden}}});
    ASSERT_THAT(in_->Seal(), IsOk());
  }
  static void TearDownTestSuite() {
    worker_.reset();
    in_.reset();
    out_.reset();
    files_.reset();
  }

  static std::unique_ptr<device::CpuArena> Lend(const char* name,
                                                const std::vector<Tensor>& tensors) {
    auto arena = std::move(device::CpuArena::Make(device::LayOut(tensors))).value();
    EXPECT_THAT(arena->Poison(), IsOk());
    const std::array<int, 1> fds = {arena->fd()};
    const auto mapped = worker_->Ask(MapRequest(name, *arena, "rw"), 30, fds);
    EXPECT_TRUE(mapped.has_value() && mapped->has_value());
    return arena;
  }

  static Answer<Json> Ask(const Json& request) {
    auto answer = worker_->Ask(request, 30);
    EXPECT_THAT(answer, IsOk());
    return std::move(*answer);
  }
  static Answer<Json> Load(std::string_view name) {
    return Ask(Json::MakeObject().Set("do", "load").Set("path", "/candidate/" + std::string(name)));
  }
  static Json Shape() {
    return Json::MakeObject().Set("tokens", kTokens).Set("hidden", kHidden).Set("eps", 1e-6);
  }
  static Answer<Json> Inputs(int64_t seed) {
    return Ask(
        Json::MakeObject()
            .Set("do", "inputs")
            .Set("draws", Json::Array{Json::MakeObject().Set("arena", "in").Set("seed", seed)})
            .Set("shape", Shape())
            .Set("regime", "typical"));
  }
  static Answer<Json> Expected() {
    return Ask(Json::MakeObject()
                   .Set("do", "expected")
                   .Set("in", "in")
                   .Set("out", "out")
                   .Set("shape", Shape()));
  }
  // Loads a reference that is the real one with `text` behind it.
  static Answer<Json> LoadChanged(std::string_view text) {
    const auto original = ReadFile(files_->path() / "operator/reference.py");
    EXPECT_THAT(WriteFile(files_->path() / "operator/changed.py", *original + std::string(text)),
                IsOk());
    return Load("changed.py");
  }

  static std::unique_ptr<TempDir> files_;
  static std::unique_ptr<Worker> worker_;
  static std::unique_ptr<device::CpuArena> in_;
  static std::unique_ptr<device::CpuArena> out_;
};
std::unique_ptr<TempDir> ReferenceWorker::files_;
std::unique_ptr<Worker> ReferenceWorker::worker_;
std::unique_ptr<device::CpuArena> ReferenceWorker::in_;
std::unique_ptr<device::CpuArena> ReferenceWorker::out_;

TEST_F(ReferenceWorker, FillsSealedInputsRepeatablyBySeed) {
  ASSERT_TRUE(Load("reference.py").has_value());
  ASSERT_TRUE(Inputs(1).has_value());
  const auto first = in_->Fingerprints().value();
  ASSERT_TRUE(Inputs(INT64_MAX).has_value());
  EXPECT_NE(in_->Fingerprints().value(), first);
  ASSERT_TRUE(Inputs(1).has_value());
  EXPECT_EQ(in_->Fingerprints().value(), first);
  EXPECT_TRUE(in_->GuardsIntact().value());
}

TEST_F(ReferenceWorker, ComputesExpectedOutputs) {
  ASSERT_TRUE(Load("reference.py").has_value());
  ASSERT_TRUE(Inputs(1).has_value());
  ASSERT_THAT(out_->Poison(), IsOk());
  const auto expected = Expected();
  ASSERT_TRUE(expected.has_value()) << expected.error().reason;
  EXPECT_TRUE(out_->GuardsIntact().value());
  const auto device = std::move(device::OpenCpu()).value();
  const auto same = device->Compare(*out_, *out_, 0, {.rtol = 0, .rel_l2 = 0});
  ASSERT_THAT(same, IsOk());
  EXPECT_TRUE(same->within);
}

TEST_F(ReferenceWorker, RefusesAReferenceOfTheWrongShapeOrType) {
  ASSERT_TRUE(LoadChanged("\ndef reference(shape, x, weight):\n  return {'out': x[1:]}\n"));
  ASSERT_TRUE(Inputs(1).has_value());
  const auto shape = Expected();
  ASSERT_FALSE(shape.has_value());
  EXPECT_THAT(shape.error().reason, HasSubstr("out is torch.bfloat16 [6, 64]"));
  ASSERT_TRUE(LoadChanged("\ndef reference(shape, x, weight):\n  return {'y': x}\n"));
  EXPECT_THAT(Expected().error().reason, HasSubstr("returned ['y']"));
}

TEST_F(ReferenceWorker, SaysWhatAReferenceLacksOrRaises) {
  ASSERT_THAT(WriteFile(files_->path() / "operator/empty.py", "x = 1\n"), IsOk());
  EXPECT_THAT(Load("empty.py").error().reason, HasSubstr("defines no inputs()"));
  ASSERT_TRUE(LoadChanged("\ndef reference(shape, x, weight):\n  raise ValueError('no way')\n"));
  const auto raised = Expected();
  ASSERT_FALSE(raised.has_value());
  EXPECT_THAT(raised.error().reason, HasSubstr("ValueError: no way"));
  EXPECT_THAT(raised.error().reason, HasSubstr("changed.py"));
}

}  // namespace
}  // namespace roofmark::worker
