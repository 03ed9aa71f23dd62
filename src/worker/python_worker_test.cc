// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cstring>
#include <functional>

#include "base/files.h"
#include "base/testing.h"
#include "worker/bell_page.h"
#include "worker/process_memory.h"
#include "worker/test_bed.h"

namespace roofmark::worker {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kFunction = R"(
def run(x, out, factor):
    out.copy_(x * factor)
)";

// Starting an interpreter with PyTorch takes seconds, so these tests share one.
class PythonWorker : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    bed_ = std::make_unique<TestBed>(TestBed::Python(kFunction));
    const auto started = bed_->Start();
    ASSERT_THAT(started, IsOk());
    ASSERT_TRUE(started->has_value()) << started->error().reason;
  }
  static void TearDownTestSuite() { bed_.reset(); }

  // What comes of loading `source` and calling it once.
  static Mishap FateOf(std::string_view source) {
    for (const auto& answer : {bed_->Reload(source), bed_->Call()}) {
      if (!answer) return {.outcome = Outcome::kNotRun, .reason = answer.error().message()};
      if (!*answer) return answer->error();
    }
    return {.outcome = Outcome::kPassed};
  }

  static std::unique_ptr<TestBed> bed_;
};
std::unique_ptr<TestBed> PythonWorker::bed_;

TEST_F(PythonWorker, RunsAFunctionOnItsDestination) {
  const Mishap fate = FateOf(kFunction);
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed_->OutIsRight());
  EXPECT_NE(bed_->worker().versions().Find("torch"), nullptr);
}

TEST_F(PythonWorker, TakesWhatAFunctionReturnsThatNamesNoOutput) {
  const Mishap fate = FateOf("def run(x, factor):\n    return x * factor\n");
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed_->OutIsRight());
  const Mishap nothing = FateOf("def run(x, factor):\n    pass\n");
  EXPECT_EQ(nothing.outcome, Outcome::kWrongStructure);
  EXPECT_THAT(nothing.reason, HasSubstr("NoneType"));
}

TEST_F(PythonWorker, AFunctionThatNamesOnlyWhatItUpdatesReturnsTheOtherOutputs) {
  // out = x + 7, and state += 1 in place.
  const std::vector<Tensor> tensors = {{.name = "out", .sizes = {TestBed::kElements}},
                                       {.name = "state", .sizes = {TestBed::kElements}}};
  const auto arena = std::move(device::CpuArena::Make(device::LayOut(tensors))).value();
  const std::array<int, 1> fds = {arena->fd()};
  const auto ask = [](const Json& request, std::span<const int> descriptors = {}) {
    const auto answer = bed_->worker().Ask(request, 30, descriptors);
    return answer && *answer ? Outcome::kPassed
           : answer          ? answer->error().outcome
                             : Outcome::kNotRun;
  };
  ASSERT_EQ(ask(MapRequest("pair", *arena, "rw"), fds), Outcome::kPassed);
  Json contract = ScaleContract();
  contract.Set("outputs", Json::Array{"out", "state"}).Set("arguments", Json::Array{"x", "state"});
  const auto fate_of = [&](const std::string& name, const std::string& body) {
    const std::string source = "def run(x, state" + body;
    EXPECT_THAT(WriteFile(bed_->spec.folder / (name + ".py"), source), IsOk());
    const Outcome loaded = ask(Json::MakeObject()
                                   .Set("do", "load")
                                   .Set("path", "/candidate/" + name + ".py")
                                   .Set("entry", "run")
                                   .Set("contract", contract));
    const Json shape = Json::MakeObject().Set("n", TestBed::kElements).Set("factor", 2.0);
    EXPECT_EQ(loaded, Outcome::kPassed);
    EXPECT_EQ(ask(Json::MakeObject().Set("do", "init").Set("shape", shape)), Outcome::kPassed);
    std::ranges::fill(arena->memory(), std::byte{0});
    return ask(Json::MakeObject()
                   .Set("do", "call")
                   .Set("in", "in")
                   .Set("out", "pair")
                   .Set("workspace", ""));
  };
  const auto value = [&](size_t tensor) {
    float first = 0;
    std::memcpy(&first, arena->memory().data() + arena->layout().places[tensor].offset,
                sizeof first);
    return first;
  };
  EXPECT_EQ(fate_of("rest", "):\n    state += 1\n    return x + 7\n"), Outcome::kPassed);
  EXPECT_EQ(value(0), 7);
  EXPECT_EQ(value(1), 1);
  EXPECT_EQ(fate_of("whole", "):\n    return x + 7, state + 1\n"), Outcome::kPassed);
  EXPECT_EQ(value(1), 1);
  EXPECT_EQ(fate_of("placed", ", out):\n    state += 1\n    out.copy_(x + 7)\n    return 5\n"),
            Outcome::kPassed);
  EXPECT_EQ(value(0), 7);
  EXPECT_EQ(fate_of("nothing", "):\n    state += 1\n"), Outcome::kWrongStructure);
}

TEST_F(PythonWorker, ACandidateCalledLikeAPackageDoesNotHideIt) {
  const Mishap fate = FateOf(R"(
import os, sys
stem = os.path.splitext(os.path.basename(__file__))[0]
assert stem not in sys.modules and __name__ != stem
assert os.path.dirname(__file__) != sys.path[0]
def run(x, out, factor):
    out.copy_(x * factor)
)");
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
}

TEST_F(PythonWorker, RunsAModelClassByNames) {
  const Mishap fate = FateOf(R"(
import torch
class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return x * self.factor
)");
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed_->OutIsRight());
}

TEST_F(PythonWorker, RunsAModelNewClassByPositionWithItsOwnConstructorArguments) {
  const Mishap fate = FateOf(R"(
import torch
class Model(torch.nn.Module):
    def forward(self, a):
        raise RuntimeError("the old one")
class ModelNew(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.scale = scale
    def forward(self, anything):
        return (anything * self.scale,)
def get_init_inputs():
    return [2.0]
)");
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
  EXPECT_TRUE(bed_->OutIsRight());
}

TEST_F(PythonWorker, RefusesOutputsOfTheWrongStructure) {
  const std::string model =
      "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x):\n";
  for (const auto& [body, text] : std::vector<std::pair<std::string, std::string>>{
           {"    return x[1:]", "it must be torch.float32 [1000]"},
           {"    return x.double()", "torch.float64"},
           {"    return x, x", "returned 2 outputs"},
           {"    return {'y': x}", "returned ['y']"},
           {"    return torch.zeros(1000, device='meta')", "lies on meta; it must lie on cpu"},
           {"    return torch.ones(1000).to_sparse()", "it must be dense"},
           {"    return x", "shares its memory with input x"},
           {"    return x.view(1000)[:]", "shares its memory with input x"},
           {"    return None", "NoneType"}}) {
    const Mishap fate = FateOf(model + body + "\n");
    EXPECT_EQ(fate.outcome, Outcome::kWrongStructure) << body;
    EXPECT_THAT(fate.reason, HasSubstr(text));
  }
}

TEST_F(PythonWorker, NamesWhatDoesNotFitTheContract) {
  const Mishap unknown = FateOf("def run(x, out, colour):\n    pass\n");
  EXPECT_EQ(unknown.outcome, Outcome::kBadInterface);
  EXPECT_THAT(unknown.reason, HasSubstr("'colour'"));
  const Mishap nothing = FateOf("x = 1\n");
  EXPECT_EQ(nothing.outcome, Outcome::kBadInterface);
  const Mishap syntax = FateOf("def run(:\n");
  EXPECT_EQ(syntax.outcome, Outcome::kCompileError);
  EXPECT_THAT(syntax.reason, HasSubstr("SyntaxError"));
}

TEST_F(PythonWorker, ExceptionsComeBackWithTheirPlace) {
  const Mishap raised = FateOf("def run(x, out):\n    raise ValueError('my own words')\n");
  EXPECT_EQ(raised.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(raised.reason, HasSubstr("ValueError: my own words"));
  EXPECT_THAT(raised.reason, HasSubstr(".py:2 in run"));
  const Mishap left = FateOf("import sys\ndef run(x, out):\n    sys.exit(0)\n");
  EXPECT_EQ(left.outcome, Outcome::kRuntimeError);
  const Mishap memory =
      FateOf("import torch\ndef run(x, out):\n    torch.empty(1 << 50, dtype=torch.uint8)\n");
  EXPECT_EQ(memory.outcome, Outcome::kOutOfMemory) << memory.reason;
}

TEST_F(PythonWorker, ACandidateThatSaysOfItselfThatItIsUnsupportedHasFailed) {
  constexpr std::string_view kClaim =
      "raise roofmark_arenas.Refusal('unsupported', 'needs another device')\n";
  const std::string claim(kClaim);
  const Mishap called = FateOf("import roofmark_arenas\ndef run(x, out):\n    " + claim);
  EXPECT_EQ(called.outcome, Outcome::kRuntimeError);
  EXPECT_THAT(called.reason, HasSubstr("needs another device"));
  EXPECT_EQ(FateOf("import roofmark_arenas\n" + claim).outcome, Outcome::kRuntimeError);
  // Nor may what it has done to its process answer for it.
  const Mishap forged =
      FateOf("import roofmark_static\ndef deny(request):\n    import roofmark_arenas\n    " +
             claim + "roofmark_static.require_compiler = deny\ndef run(x, out):\n    pass\n");
  EXPECT_EQ(forged.outcome, Outcome::kPassed) << forged.reason;
  const auto asked = bed_->worker().Ask(Json::MakeObject().Set("do", "require"), 30);
  ASSERT_THAT(asked, IsOk());
  ASSERT_FALSE(asked->has_value());
  EXPECT_EQ(asked->error().outcome, Outcome::kRuntimeError);
}

TEST_F(PythonWorker, ACompilerThatIsMissingIsSaidBeforeAnythingIsLoaded) {
  TestBed bed = TestBed::Python("import flydsl\n");
  constexpr std::string_view kSource =
      "import flydsl.compiler\n@flydsl.compiler.kernel\ndef scale():\n    pass\n"
      "def run(x, out):\n    scale()\n";
  ASSERT_THAT(WriteFile(bed.spec.folder / "candidate.py", kSource), IsOk());
  const auto worker = StartWorker(bed.spec);
  ASSERT_THAT(worker, IsOk());
  const auto require = [&](const char* lane) {
    const auto answer = (*worker)->Ask(Json::MakeObject()
                                           .Set("do", "require")
                                           .Set("path", "/candidate/candidate.py")
                                           .Set("lane", lane)
                                           .Set("entry", "run")
                                           .Set("contract", ScaleContract()),
                                       30);
    EXPECT_THAT(answer, IsOk());
    return answer && !*answer ? answer->error() : Mishap{.outcome = Outcome::kPassed};
  };
  EXPECT_EQ(require("torch").outcome, Outcome::kPassed);
  const Mishap missing = require("flydsl");
  if (missing.outcome == Outcome::kPassed) GTEST_SKIP() << "FlyDSL is installed";
  EXPECT_EQ(missing.outcome, Outcome::kUnsupported) << missing.reason;
  EXPECT_THAT(missing.reason, HasSubstr("it was checked, not run"));
}

constexpr std::string_view kReturning =
    "import torch\nclass Model(torch.nn.Module):\n  def forward(self, x):\n    return x + x\n";

// Begins a bell, rings it once, and hands over before it ends.
void RingOnce(TestBed& bed, bool fetched, const std::function<void(const Bell& bell)>& look) {
  ASSERT_THAT(bed.out().Poison(), IsOk());
  BellPage page = std::move(BellPage::Make()).value();
  const std::array<int, 1> fds = {page.fd()};
  const Json call = Json::MakeObject().Set("in", "in").Set("out", "out");
  const Json bell =
      Json::MakeObject().Set("do", "bell").Set("calls", Json::Array{call}).Set("fetched", fetched);
  ASSERT_THAT(bed.worker().Send(bell, fds), IsOk());
  ASSERT_TRUE(Ring(bed.worker(), page.bell(), kBellEmpty | 1, 5)->has_value());
  const auto rung = Ring(bed.worker(), page.bell(), 1, 5);
  ASSERT_TRUE(rung->has_value()) << rung->error().reason;
  EXPECT_GT((*rung)->worker_ns, 0);
  look(page.bell());
  ASSERT_TRUE(Ring(bed.worker(), page.bell(), kBellStop, 5)->has_value());
  const auto reply = bed.worker().Receive(5);
  ASSERT_TRUE(reply->has_value()) << reply->error().reason;
}

TEST_F(PythonWorker, StoresWhatWasReturnedBeforeItAnswersTheDoorbell) {
  ASSERT_EQ(FateOf(kReturning).outcome, Outcome::kPassed);
  RingOnce(*bed_, /*fetched=*/false, [](const Bell& bell) {
    EXPECT_EQ(bell.returned[0], 0);
    EXPECT_TRUE(bed_->OutIsRight());
  });
}

TEST_F(PythonWorker, SaysWhereWhatWasReturnedLiesForTheJudgeToFetch) {
  ASSERT_EQ(FateOf(kReturning).outcome, Outcome::kPassed);
  if (!MayReadMemory(bed_->worker().pid())) GTEST_SKIP() << "this machine forbids it";
  RingOnce(*bed_, /*fetched=*/true, [](const Bell& bell) {
    EXPECT_FALSE(bed_->OutIsRight());
    const device::TensorPlace& place = bed_->out().layout().places[0];
    ASSERT_TRUE(ReadMemory(bed_->worker().pid(), bell.returned[0],
                           bed_->out().memory().subspan(static_cast<size_t>(place.offset),
                                                        sizeof(float) * TestBed::kElements)));
    EXPECT_TRUE(bed_->OutIsRight());
  });
  EXPECT_TRUE(bed_->OutIsRight());  // nobody else stored anything
  std::array<std::byte, 8> nothing{};
  EXPECT_FALSE(ReadMemory(bed_->worker().pid(), 8, nothing));
}

TEST_F(PythonWorker, WhatDoesNotFitIsRefusedWhoeverFetchesIt) {
  ASSERT_EQ(FateOf("calls = 0\ndef run(x):\n  global calls\n  calls += 1\n"
                   "  return 2 * x if calls == 1 else 2 * x[:-1]\n")
                .outcome,
            Outcome::kPassed);
  BellPage page = std::move(BellPage::Make()).value();
  const std::array<int, 1> fds = {page.fd()};
  const Json call = Json::MakeObject().Set("in", "in").Set("out", "out");
  const Json bell =
      Json::MakeObject().Set("do", "bell").Set("calls", Json::Array{call}).Set("fetched", true);
  ASSERT_THAT(bed_->worker().Send(bell, fds), IsOk());
  ASSERT_TRUE(Ring(bed_->worker(), page.bell(), 1, 5)->has_value());
  const auto reply = bed_->worker().Receive(5);
  ASSERT_FALSE(reply->has_value());
  EXPECT_EQ(reply->error().outcome, Outcome::kWrongStructure);
}

TEST_F(PythonWorker, WhatAReturningCallLeftUndoneIsDoneWithinItsWindow) {
  const Mishap fate = FateOf(R"(
import roofmark_candidate, torch
def run(x, out, factor):
    places = {"out": torch.empty_like(out)}
    def later(value):
        return roofmark_candidate._finish(value, places, set(), {"x": x}) is not None
    for fresh in (x * 2, (x * 2,), {"out": x * 2}):
        assert later(fresh)
    for unfinished in (torch.ones(1).expand(x.shape), torch.ones(2 * x.numel())[::2]):
        assert not later(unfinished) and places["out"].equal(unfinished)
        assert not later([unfinished]) and not later({"out": unfinished})
    out.copy_(x * factor)
)");
  EXPECT_EQ(fate.outcome, Outcome::kPassed) << fate.reason;
}

TEST_F(PythonWorker, NamesWhatACallAsksPyTorchFor) {
  ASSERT_EQ(FateOf("import torch\ndef run(x, out, factor):\n"
                   "    out.copy_(torch.nn.functional.linear(x.view(-1, 1), torch.ones(1, 1))"
                   ".view(-1))\n    torch.mul(out, factor, out=out)\n")
                .outcome,
            Outcome::kPassed);
  const auto answer = bed_->worker().Ask(
      Json::MakeObject().Set("do", "apis").Set("in", "in").Set("out", "out").Set("workspace", ""),
      10);
  ASSERT_THAT(answer, IsOk());
  ASSERT_TRUE(answer->has_value()) << answer->error().reason;
  EXPECT_THAT((**answer).Find("apis")->Dump(),
              ::testing::AllOf(HasSubstr("torch.nn.functional.linear"), HasSubstr("torch.mul"),
                               ::testing::Not(HasSubstr("view"))));
}

// Kills its worker, so it comes last.
TEST_F(PythonWorker, WritingToAnInputInPlaceIsNamed) {
  const Mishap fate = FateOf("def run(x, out):\n    out.copy_(x)\n    x.mul_(2)\n");
  EXPECT_EQ(fate.outcome, Outcome::kInputMutated) << fate.reason;
}

}  // namespace
}  // namespace roofmark::worker
