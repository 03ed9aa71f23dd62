// SPDX-License-Identifier: Apache-2.0
// Parts die, and nothing is lost or counted twice.
#include "pipeline/mine_parts.h"

#include <map>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::pipeline {
namespace {

const fs::path kSource = ROOFMARK_SOURCE_DIR;
const fs::path kProfiles = kSource / "examples/profiles";

// Runs parts in this process, and lets some of them die.
class FragileRunner : public PartRunner {
 public:
  // How often each part dies before it works.
  std::map<size_t, int> deaths;
  // A part with this file always dies.
  std::string poison;
  std::vector<std::vector<size_t>> rounds;

  Result<void> Run(const fs::path& folder, const std::vector<size_t>& parts,
                   const std::function<void()>& waiting) override {
    rounds.push_back(parts);
    for (const size_t part : parts) {
      const fs::path path = folder / ("part-" + std::to_string(part));
      const std::string inputs = ReadFile(path.string() + ".inputs.jsonl").value();
      if (!poison.empty() && inputs.find(poison) != std::string::npos) continue;
      if (deaths[part]-- > 0) continue;
      TRY(MinePart(path, rules_));
      waiting();
    }
    return {};
  }

 private:
  trace::Rules rules_ = trace::Rules::Load(kSource / "rules").value();
};

class MiningInParts : public testing::Test {
 protected:
  std::vector<trace::ProfileInput> Inputs() {
    return trace::FindProfiles({kProfiles / "manifest.csv"}).value();
  }
  std::string Whole() {
    const auto rules = trace::Rules::Load(kSource / "rules").value();
    return MineInputs(Inputs(), rules, {}, OnFailure::kStop).value().aggregate.ToJson().Dump();
  }
  Result<MinedFleet> Mine(const std::vector<trace::ProfileInput>& inputs, size_t parts = 0) {
    return MineParts(inputs, folder_.path() / "parts", runner_, {.parts = parts},
                     [&](size_t done, size_t total) { shown_ = {done, total}; });
  }
  TempDir folder_ = TempDir::Make("parts").value();
  FragileRunner runner_;
  std::pair<size_t, size_t> shown_;
};

TEST_F(MiningInParts, GivesTheSameBytesAsMiningAtOnce) {
  for (const size_t parts : {size_t{0}, size_t{1}, size_t{3}}) {
    const auto fleet = Mine(Inputs(), parts);
    ASSERT_THAT(fleet, IsOk());
    EXPECT_EQ(fleet->aggregate.ToJson().Dump(), Whole());
    EXPECT_EQ(fleet->profiles, 8U);
    EXPECT_FALSE(fs::exists(folder_.path() / "parts"));
  }
  EXPECT_EQ(shown_, (std::pair<size_t, size_t>(3, 3)));
}

TEST_F(MiningInParts, RunsAgainWhatDiedAndNothingElse) {
  runner_.deaths = {{1, 1}, {3, 2}};
  const auto fleet = Mine(Inputs(), 4);
  ASSERT_THAT(fleet, IsOk());
  EXPECT_EQ(fleet->aggregate.ToJson().Dump(), Whole());
  ASSERT_EQ(runner_.rounds.size(), 3U);
  EXPECT_EQ(runner_.rounds[1], (std::vector<size_t>{1, 3}));
  EXPECT_EQ(runner_.rounds[2], (std::vector<size_t>{3}));
}

TEST_F(MiningInParts, FindsTheFileThatKillsAPart) {
  runner_.poison = "moe_mixed";
  std::vector<trace::ProfileInput> inputs = Inputs();
  EXPECT_THAT(Mine(inputs, 2), HasError(ErrorKind::kIo, "moe_mixed.json.gz: its part failed"));
  fs::remove_all(folder_.path() / "parts");
  // Where it was found by searching, the others count.
  for (trace::ProfileInput& input : inputs) input.searched = true;
  const auto fleet = Mine(inputs, 2);
  ASSERT_THAT(fleet, IsOk());
  EXPECT_EQ(fleet->profiles, 7U);
  ASSERT_EQ(fleet->skipped.size(), 1U);
  EXPECT_NE(fleet->skipped[0].find("moe_mixed"), std::string::npos);
}

TEST_F(MiningInParts, GoesOnWhereItWasInterrupted) {
  runner_.deaths = {{0, 100}};
  EXPECT_FALSE(Mine(Inputs(), 8).has_value());
  runner_.deaths.clear();
  runner_.rounds.clear();
  const auto fleet = Mine(Inputs(), 8);
  ASSERT_THAT(fleet, IsOk());
  EXPECT_EQ(fleet->aggregate.ToJson().Dump(), Whole());
  ASSERT_EQ(runner_.rounds.size(), 1U);
  EXPECT_EQ(runner_.rounds[0], (std::vector<size_t>{0}));
}

TEST_F(MiningInParts, RefusesThePartsOfOtherInputs) {
  runner_.deaths = {{0, 100}};
  EXPECT_FALSE(Mine(Inputs(), 8).has_value());
  std::vector<trace::ProfileInput> others = Inputs();
  others.pop_back();
  EXPECT_THAT(Mine(others, 8), HasError(ErrorKind::kInput, "other inputs"));
}

TEST_F(MiningInParts, SaysWhichFileIsNoProfile) {
  ASSERT_THAT(WriteFile(folder_.path() / "bad.json", "{}"), IsOk());
  std::vector<trace::ProfileInput> inputs = Inputs();
  inputs.push_back({.path = folder_.path() / "bad.json", .options = {}});
  EXPECT_THAT(Mine(inputs, 3), HasError(ErrorKind::kInput, "bad.json"));
  EXPECT_EQ(runner_.rounds.size(), 1U);  // that is no death
}

}  // namespace
}  // namespace roofmark::pipeline
