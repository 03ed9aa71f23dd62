// SPDX-License-Identifier: Apache-2.0
// What needs Triton is skipped, and says so, where none can be imported; no GPU is needed.
#include "gate/recompile.h"

#include <fmt/format.h>

#include <cstdlib>

#include "base/testing.h"
#include "gate/contestant.h"
#include "meter/cubin.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Adds one number to each element; what Triton 3 writes of such a kernel.
constexpr std::string_view kIntermediateCode = R"(module {
  tt.func public @k(%at: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %range = tt.make_range {end = 256 : i32, start = 0 : i32} : tensor<256xi32>
    %base = tt.splat %at : !tt.ptr<f32> -> tensor<256x!tt.ptr<f32>>
    %place = tt.addptr %base, %range : tensor<256x!tt.ptr<f32>>, tensor<256xi32>
    %value = tt.load %place : tensor<256x!tt.ptr<f32>>
    %one = arith.constant dense<1.000000e+00> : tensor<256xf32>
    %sum = arith.addf %value, %one : tensor<256xf32>
    tt.store %place, %sum : tensor<256x!tt.ptr<f32>>
    tt.return
  }
}
)";

std::string Options(int warps, int arch = 90) {
  return Json::MakeObject()
      .Set("target",
           Json::MakeObject().Set("backend", "cuda").Set("arch", arch).Set("warp_size", 32))
      .Set("num_warps", warps)
      .Dump();
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

class RecompilerTest : public testing::Test {
 protected:
  RecompilerTest() { std::filesystem::create_directories(Place("").parent_path()); }

  std::filesystem::path Place(const std::string& name) const {
    return scratch_.path() / ".triton/KEY" / name;
  }
  void Write(const std::string& name, std::string_view text) {
    ASSERT_THAT(WriteFile(Place(name), text), IsOk());
  }
  Recompiled HearOf(const std::string& cubin) {
    const std::vector<std::string> ran = {meter::CubinHash(cubin)};
    recompiler_.Need(ran, scratch_.path());
    return recompiler_.Hear(ran, Patience::kWait);
  }

  TempDir scratch_ = TempDir::Make("recompile").value();
  Recompiler recompiler_{"sm_90", "test"};
};

TEST_F(RecompilerTest, RefutesACubinWithoutIntermediateCode) {
  Write("k.cubin", "a cubin");
  EXPECT_THAT(HearOf("a cubin").refuted,
              StartsWith("kernel k is not what Triton's compiler makes"));
  Write("k.ttir", "module {}");
  EXPECT_THAT(HearOf("a cubin").refuted, HasSubstr("no .ttir or .ttgir lies there with its .json"));
}

TEST_F(RecompilerTest, RefutesACubinWhoseOptionsNameAnotherDevice) {
  Write("k.cubin", "a cubin");
  Write("k.ttir", "module {}");
  Write("k.json", Options(4, 80));
  EXPECT_THAT(HearOf("a cubin").refuted,
              HasSubstr("its .json says sm_80, and this device is sm_90"));
}

TEST_F(RecompilerTest, FollowsNoLinkOutOfTheCache) {
  Write("k.cubin", "a cubin");
  std::filesystem::create_symlink("/etc/passwd", Place("k.ttir"));
  Write("k.json", Options(4));
  EXPECT_THAT(HearOf("a cubin").refuted, HasSubstr("no .ttir or .ttgir lies there"));
}

TEST_F(RecompilerTest, RefutesWhatIsNoLongerThere) {
  EXPECT_THAT(HearOf("a cubin").refuted, HasSubstr("no longer in the cache"));
}

TEST_F(RecompilerTest, HasNothingToSayOfNothing) {
  const Recompiled heard = recompiler_.Hear({}, Patience::kWait);
  EXPECT_TRUE(heard.settled);
  EXPECT_EQ(heard.refuted, "");
}

// A verdict that passed, of a candidate of which code is gone from its cache.
class SettleVerdictTest : public testing::Test {
 protected:
  SettleVerdictTest() {
    const Candidate candidate{.name = "mine", .lane = Lane::kTriton};
    contestant_ = Contestant::Make(candidate, op_, {.arch = "sm_90"}).value();
    verdict_.outcome = Outcome::kPassed;
    verdict_.evidence =
        Json::MakeObject().Set("timing", Json::MakeObject().Set("level", "a").Set("refuted", ""));
  }
  bool Settle(const std::vector<std::string>& code) {
    return SettleVerdict(code, Patience::kNone, *contestant_->recompiler(), &verdict_);
  }

  Operator op_{.name = "scale"};
  std::unique_ptr<Contestant> contestant_;
  Verdict verdict_;
};

TEST_F(SettleVerdictTest, LeavesAVerdictAsItIsWhereNoCodeIsAwaited) {
  EXPECT_TRUE(Settle({}));
  EXPECT_EQ(verdict_.outcome, Outcome::kPassed);
  EXPECT_EQ(verdict_.level, "");
}

TEST_F(SettleVerdictTest, RefusesAndKeepsTheReasonForTheArchive) {
  verdict_.against = Against{.baseline = "other"};
  EXPECT_TRUE(Settle({"a hash"}));
  EXPECT_EQ(verdict_.outcome, Outcome::kFallback);
  EXPECT_THAT(verdict_.reason, HasSubstr("no longer in the cache"));
  EXPECT_FALSE(verdict_.against);
  const Json& timing = *verdict_.evidence.Find("timing");
  EXPECT_EQ(*timing.String("refuted"), verdict_.reason);
  EXPECT_EQ(*timing.String("level"), "a");
}

TEST_F(SettleVerdictTest, AnEarlierFaultStays) {
  for (const Outcome outcome : {Outcome::kUnsynchronised, Outcome::kFallback, Outcome::kCrashed}) {
    verdict_.outcome = outcome;
    verdict_.reason = "before";
    EXPECT_TRUE(Settle({"a hash"}));
    EXPECT_EQ(verdict_.outcome, outcome);
    EXPECT_EQ(verdict_.reason, "before");
  }
}

// Without the folders of packages that this shell names, most machines have no Triton.
TEST_F(RecompilerTest, HoldsNothingAgainstAnybodyWhereTritonDoesNotWork) {
  const char* const named = std::getenv("PYTHONPATH");
  const std::string kept = named != nullptr ? named : "";
  ::unsetenv("PYTHONPATH");
  Write("k.cubin", "a cubin");
  Write("k.ttir", kIntermediateCode);
  Write("k.json", Options(4));
  const Recompiled heard = HearOf("a cubin");
  if (named != nullptr) ::setenv("PYTHONPATH", kept.c_str(), 1);
  if (!heard.refuted.empty()) GTEST_SKIP() << "this interpreter has Triton of its own";
  EXPECT_TRUE(heard.settled);
  EXPECT_THAT(heard.level, StartsWith("its code was not compiled again: "));
}

// A cache that holds one kernel as Triton makes it.
class RecompilerWithTritonTest : public RecompilerTest {
 protected:
  void SetUp() override {
    auto started = worker::StartWorker({.kind = worker::WorkerKind::kRecompiler,
                                        .folder = scratch_.path(),
                                        .environment = {"ROOFMARK_ARCH=90"}});
    ASSERT_THAT(started, IsOk());
    worker::Worker& worker = **started;
    if (const auto fault = worker.versions().String("fault"); !fault || !fault->empty()) {
      GTEST_SKIP() << "no Triton that compiles here: " << fault.value_or("?");
    }
    const auto ask = [&](const Json& request) {
      const auto answer = worker.Ask(request, 120);
      EXPECT_TRUE(answer && *answer);
      return answer && *answer ? **answer : Json::MakeObject();
    };
    ask(Json::MakeObject()
            .Set("do", "submit")
            .Set("key", "k")
            .Set("stage", "ttir")
            .Set("code", Hex(kIntermediateCode))
            .Set("options", Hex(Options(4)))
            .Set("layouts", ""));
    const Json reply =
        ask(Json::MakeObject().Set("do", "collect").Set("key", "k").Set("wait_s", 100));
    const Json* const done = reply.Find("done");
    ASSERT_TRUE(done != nullptr && done->is_object());
    ASSERT_EQ(*done->String("failure"), "");
    cubin_ = Bytes(*done->String("cubin"));
    Write("k.cubin", cubin_);
    Write("k.ttir", kIntermediateCode);
    Write("k.json", Options(4));
  }

  std::string cubin_;
};

TEST_F(RecompilerWithTritonTest, AgreesWithWhatTritonMade) {
  recompiler_.BeginAhead(scratch_.path());
  const Recompiled heard = HearOf(cubin_);
  EXPECT_EQ(heard.refuted, "");
  EXPECT_EQ(heard.level, "compiled again: 1 code objects, the same");
}

TEST_F(RecompilerWithTritonTest, RefutesOneChangedInstruction) {
  std::string changed = cubin_;
  changed[changed.find("\x4d\x79")] = 0;  // EXIT
  Write("k.cubin", changed);
  EXPECT_THAT(HearOf(changed).refuted, HasSubstr("it differs in section .text.k"));
}

TEST_F(RecompilerWithTritonTest, RefutesOptionsThatGiveOtherCode) {
  Write("k.json", Options(8));
  EXPECT_THAT(HearOf(cubin_).refuted, HasSubstr("it differs in section"));
}

TEST_F(RecompilerWithTritonTest, RefutesIntermediateCodeThatNobodyCanRead) {
  Write("k.ttir", "this is none");
  EXPECT_THAT(HearOf(cubin_).refuted, HasSubstr("it makes nothing of the .ttir: "));
}

TEST_F(RecompilerWithTritonTest, TellsTheFirstReasonWhereBothStagesFail) {
  Write("k.ttgir", "nor is this");
  Write("k.ttir", "this is none");
  EXPECT_THAT(HearOf(cubin_).refuted, HasSubstr("it makes nothing of the .ttir: "));
}

TEST_F(RecompilerWithTritonTest, ReadsNoFileThatOptionsName) {
  Json options = *Json::Parse(Options(4));
  options.Set("ir_override", "/etc/passwd.ptx")
      .Set("extern_libs", Json::Array{Json::Array{"mine", "/scratch/mine.bc"}})
      .Set("arch", "sm80");
  Write("k.json", options.Dump());
  EXPECT_EQ(HearOf(cubin_).refuted, "");
  options.Set("ptx_options", "--input-as-string=.version");
  Write("k.json", options.Dump());
  Recompiler fresh("sm_90", "test");
  fresh.Need({meter::CubinHash(cubin_)}, scratch_.path());
  EXPECT_THAT(fresh.Hear({meter::CubinHash(cubin_)}, Patience::kWait).refuted,
              HasSubstr("is not repeated"));
}

}  // namespace
}  // namespace roofmark::gate
