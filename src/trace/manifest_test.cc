// SPDX-License-Identifier: Apache-2.0
#include "trace/manifest.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::trace {
namespace {

using testing::ElementsAre;

class Manifest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name :
         {"a/1.json", "a/2.json", "a/deep/er/3.json.gz", "b.json", "notes.txt"}) {
      fs::create_directories((folder_.path() / name).parent_path());
      ASSERT_THAT(WriteFile(folder_.path() / name, "{}"), IsOk());
    }
  }
  Result<std::vector<ProfileInput>> Read(std::string_view text) {
    const fs::path path = folder_.path() / "fleet.csv";
    EXPECT_THAT(WriteFile(path, text), IsOk());
    return ReadManifest(path, [](const std::string& name) { return !name.ends_with(".txt"); });
  }
  std::vector<std::string> Names(std::string_view pattern) {
    std::vector<std::string> names;
    for (const fs::path& path : MatchGlob(folder_.path(), pattern)) {
      names.push_back(path.lexically_relative(folder_.path()).string());
    }
    return names;
  }
  TempDir folder_ = TempDir::Make("manifest").value();
};

TEST_F(Manifest, GivesEveryProfileOfARowItsGroup) {
  ASSERT_THAT(WriteFile(folder_.path() / "config.json",
                        R"({"hidden_size": 4096, "rope": {"x": 1}, "text_config":
                           {"num_attention_heads": 32, "hidden_size": 1}})"),
              IsOk());
  const auto inputs = Read(
      "\xEF\xBB\xBFglob,application,model,framework,device,ranks,card-hours,config,remark\r\n"
      "a/*.json,chat,\"m, 8b\",vllm,H200,8,12.5,config.json,x\r\n"
      "\r\n"
      "b.json,,m,sglang,H20,,,,\r\n");
  ASSERT_THAT(inputs, IsOk());
  ASSERT_EQ(inputs->size(), 3U);
  const MineOptions& first = (*inputs)[0].options;
  EXPECT_EQ(first.application, "chat");
  EXPECT_EQ(first.model, "m, 8b");
  EXPECT_EQ(first.ranks, 8);
  EXPECT_EQ(first.card_ms, 45000000);
  EXPECT_EQ(first.facts.at("hidden_size"), 4096);
  EXPECT_EQ(first.facts.at("head_dim"), 128);
  EXPECT_EQ(first.group.size(), 16U);
  EXPECT_EQ((*inputs)[1].options.group, first.group);
  EXPECT_NE((*inputs)[2].options.group, first.group);
  EXPECT_EQ((*inputs)[2].options.application, "m / sglang / H20");
  EXPECT_FALSE((*inputs)[2].options.card_ms.has_value());
  EXPECT_TRUE((*inputs)[0].searched);
  EXPECT_FALSE((*inputs)[2].searched);
}

TEST_F(Manifest, KnowsTheSizesOfExpertsByTheirOtherNames) {
  const fs::path path = folder_.path() / "config.json";
  ASSERT_THAT(WriteFile(path, R"({"intermediate_size": 2880, "num_local_experts": 32,
                                  "experts_per_token": 4})"),
              IsOk());
  const auto mixture = ReadModelConfig(path);
  ASSERT_THAT(mixture, IsOk());
  EXPECT_EQ(mixture->at("moe_intermediate_size"), 2880);
  EXPECT_EQ(mixture->at("num_experts_per_tok"), 4);
  ASSERT_THAT(WriteFile(path, R"({"intermediate_size": 18432, "num_experts": 128,
                                  "moe_intermediate_size": 2048, "num_experts_per_tok": 8})"),
              IsOk());
  EXPECT_EQ(ReadModelConfig(path)->at("moe_intermediate_size"), 2048);
  ASSERT_THAT(WriteFile(path, R"({"intermediate_size": 14336})"), IsOk());
  EXPECT_FALSE(ReadModelConfig(path)->contains("moe_intermediate_size"));
}

TEST_F(Manifest, MatchesPatternsAtEveryDepth) {
  EXPECT_THAT(Names("*.json"), ElementsAre("b.json"));
  EXPECT_THAT(Names("a/?.json"), ElementsAre("a/1.json", "a/2.json"));
  EXPECT_THAT(Names("**/*.json"), ElementsAre("a/1.json", "a/2.json", "b.json"));
  EXPECT_THAT(Names("a/**"), ElementsAre("a/1.json", "a/2.json", "a/deep/er/3.json.gz"));
  EXPECT_THAT(Names("a/**/3*"), ElementsAre("a/deep/er/3.json.gz"));
  EXPECT_THAT(Names((folder_.path() / "[ab].json").string()), ElementsAre("b.json"));
  EXPECT_THAT(Names("nowhere/*"), ElementsAre());
}

TEST_F(Manifest, TakesAFolderForTheProfilesInIt) {
  ASSERT_THAT(WriteFile(folder_.path() / "a/notes.txt", ""), IsOk());
  const auto inputs = Read("profile\na\n");
  ASSERT_THAT(inputs, IsOk());
  EXPECT_EQ(inputs->size(), 3U);
}

TEST_F(Manifest, SaysLineAndWayOutOfWhatIsOdd) {
  EXPECT_THAT(Read(""), HasError(ErrorKind::kInput, "empty"));
  EXPECT_THAT(Read("glob;card_hours\na/*;1\n"), HasError(ErrorKind::kInput, "semicolons"));
  EXPECT_THAT(Read("\xFF\xFEg"), HasError(ErrorKind::kInput, "UTF-16"));
  EXPECT_THAT(Read("path,application\n"), HasError(ErrorKind::kInput, "'glob'"));
  EXPECT_THAT(Read("glob,card_hour\n"), HasError(ErrorKind::kInput, "looks like 'card_hours'"));
  EXPECT_THAT(Read("glob,profile\n"), HasError(ErrorKind::kInput, "'glob' is there twice"));
  EXPECT_THAT(Read("glob\nb.json\nc.json\n"), HasError(ErrorKind::kNotFound, "line 3"));
  EXPECT_THAT(Read("glob\nc*.json\n"), HasError(ErrorKind::kNotFound, "matches no profile"));
  EXPECT_THAT(Read("glob,card_hours\nb.json,lots\n"), HasError(ErrorKind::kInput, "like 310"));
  EXPECT_THAT(Read("glob,card_hours\nb.json,-1\n"), HasError(ErrorKind::kInput, "line 2"));
  EXPECT_THAT(Read("glob,card_hours\nb.json,nan\n"), HasError(ErrorKind::kInput, "line 2"));
  EXPECT_THAT(Read("glob,ranks\nb.json,0\n"), HasError(ErrorKind::kInput, "like 8"));
  EXPECT_THAT(Read("glob\n\"b.json\n"), HasError(ErrorKind::kInput, "never closed"));
  EXPECT_THAT(Read("glob,application\n,chat\n"), HasError(ErrorKind::kInput, "which profiles"));
  EXPECT_THAT(Read("glob\na/1.json\na/*.json\n"), HasError(ErrorKind::kInput, "line 2 already"));
  EXPECT_THAT(Read("glob,config\nb.json,nowhere.json\n"),
              HasError(ErrorKind::kNotFound, "nowhere.json"));
}

}  // namespace
}  // namespace roofmark::trace
