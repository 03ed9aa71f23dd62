// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include "base/testing.h"

namespace roofmark {
namespace {

TEST(Json, KeepsTheOrderOfItsKeys) {
  const auto json = Json::Parse(R"({"b": 1, "a": [true, null, 1.5, "x"]})");
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->Dump(), R"({"b": 1, "a": [true, null, 1.5, "x"]})");
}

TEST(Json, RefusesDuplicateKeysAndTrailingText) {
  EXPECT_THAT(Json::Parse(R"({"a": 1, "a": 2})"), HasError(ErrorKind::kInput, "'a' appears twice"));
  EXPECT_THAT(Json::Parse("{} x"), HasError(ErrorKind::kInput, "byte 4"));
  EXPECT_THAT(Json::Parse(""), HasError(ErrorKind::kInput, "not valid JSON"));
}

TEST(Json, RefusesAbsurdDepthAndRange) {
  EXPECT_THAT(Json::Parse(std::string(100000, '[')), HasError(ErrorKind::kInput, "nesting"));
  EXPECT_THAT(Json::Parse("1e999"), HasError(ErrorKind::kInput, "overflow"));
}

TEST(Json, NamesTheKeyThatIsMissingOrOfAnotherType) {
  const Json json = Json::MakeObject().Set("tokens", "many");
  EXPECT_THAT(json.Int("tokens"), HasError(ErrorKind::kInput, "'tokens' is a string"));
  EXPECT_THAT(json.Int("hidden"), HasError(ErrorKind::kInput, "'hidden' is missing"));
}

TEST(Json, EscapesControlCharactersAndReplacesInvalidUtf8) {
  EXPECT_EQ(Json("a\"\n\x01\xff").Dump(), "\"a\\\"\\n\\u0001\xef\xbf\xbd\"");
}

TEST(Toml, ParsesIntoTheSameTreeInOrderOfAppearance) {
  const auto toml = Json::ParseToml("z = 1\na = [1.5, true]\n[[t]]\nx = 'y'\n");
  ASSERT_THAT(toml, IsOk());
  EXPECT_EQ(toml->Dump(), R"({"z": 1, "a": [1.5, true], "t": [{"x": "y"}]})");
}

TEST(Toml, NamesTheLineOfAMistake) {
  EXPECT_THAT(Json::ParseToml("a = 1\nb = \n"), HasError(ErrorKind::kInput, "line 2"));
}

}  // namespace
}  // namespace roofmark
