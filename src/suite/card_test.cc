// SPDX-License-Identifier: Apache-2.0
#include "suite/card.h"

#include <fmt/format.h>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::suite {
namespace {

constexpr std::string_view kCard = R"(
name = "scale"
summary = "out = x * s"
source = "a test"
weight_published = 0.25
[axes]
rows = "int"
lens = "list"
[derived]
total = { over = "lens", of = "L" }
longest = { over = "lens", of = "L", take = "max" }
[attributes]
s = 2
[[inputs]]
name = "x"
dtype = "bf16"
shape = ["rows", "total"]
residency = "warm"
[[outputs]]
name = "out"
dtype = "f32"
shape = ["rows", "total"]
[[work]]
engine = "vector_f32"
ops = "rows*total"
source = "one product an element"
[traffic]
read = "2*rows*total"
write = "4*rows*total"
source = "each element once"
[published]
work = { bf16 = "3*rows*total" }
differs = "The release counts thrice."
[tolerance.out]
kind = "numeric"
rtol = 0.01
atol_rms = 0.01
rel_l2 = 0.01
)";

constexpr std::string_view kShape =
    R"({"id": "s-a", "tier": "small", "phase": "decode", "axes": {"rows": 2, "lens": [3, 4]}})";

std::string Replace(std::string_view from, std::string_view to) {
  std::string text(kCard);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

Result<Operator> Parse(std::string_view text) {
  return ParseCard(TRY(Json::ParseToml(text)));
}

TEST(Card, ReadsEveryPartInItsOrder) {
  const auto op = Parse(kCard);
  ASSERT_THAT(op, IsOk());
  EXPECT_EQ(op->name, "scale");
  EXPECT_EQ(op->axes.size(), 2u);
  EXPECT_TRUE(op->axes[1].second);
  EXPECT_EQ(op->derived[1].take, Take::kMax);
  EXPECT_EQ(op->inputs[0].residency, Residency::kWarm);
  EXPECT_EQ(op->outputs[0].dtype, DType::kF32);
  EXPECT_EQ(op->work[0].engine, Engine::kVectorF32);
  EXPECT_EQ(op->published.read, op->read_bytes);
  EXPECT_EQ(op->tolerance.at("out").rtol, 0.01);
}

constexpr std::string_view kOutputs = "[[outputs]]\nname = \"out\"";

TEST(Card, AnOutputUpdatedInPlaceIsTheInputOfItsName) {
  const auto op = Parse(Replace(kOutputs, R"([[outputs]]
name = "x"
dtype = "bf16"
shape = ["rows", "total"]
in_place = true
[tolerance.x]
kind = "exact"
[[outputs]]
name = "out")"));
  ASSERT_THAT(op, IsOk());
  EXPECT_TRUE(op->IsInPlace("x"));
  EXPECT_FALSE(op->IsInPlace("out"));
}

TEST(Card, InPlaceNeedsAnInputOfTheSameNameTypeAndShape) {
  const auto with = [](std::string_view tensor) {
    return Parse(Replace(
        kOutputs,
        fmt::format("[[outputs]]\n{}\nin_place = true\n[[outputs]]\nname = \"out\"", tensor)));
  };
  EXPECT_THAT(with("name = \"y\"\ndtype = \"bf16\"\nshape = [\"rows\"]"),
              HasError(ErrorKind::kInput, "no input has its name"));
  EXPECT_THAT(with("name = \"x\"\ndtype = \"f16\"\nshape = [\"rows\", \"total\"]"),
              HasError(ErrorKind::kInput, "must be those of the input"));
  EXPECT_THAT(with("name = \"x\"\ndtype = \"bf16\"\nshape = [\"rows\"]"),
              HasError(ErrorKind::kInput, "must be those of the input"));
}

TEST(Card, AShapeMayChooseTheElementType) {
  const auto op = Parse(Replace("dtype = \"bf16\"",
                                "dtype = { axis = \"rows\", of = [\"bf16\", \"f16\", \"f32\"] }"));
  ASSERT_THAT(op, IsOk());
  EXPECT_EQ(op->inputs[0].dtypes.size(), 3u);
  EXPECT_THAT(Parse(Replace("dtype = \"bf16\"", "dtype = { axis = \"half\", of = [\"bf16\"] }")),
              HasError(ErrorKind::kInput, "'half' is not declared"));
}

TEST(Card, GroupedOutputsNameTheOutputThatGivesTheGroups) {
  const std::string_view numeric =
      "kind = \"numeric\"\nrtol = 0.01\natol_rms = 0.01\nrel_l2 = 0.01";
  EXPECT_THAT(Parse(Replace(numeric, "kind = \"grouped\"\noffsets = \"edges\"")),
              HasError(ErrorKind::kInput, "groups come from another output"));
  EXPECT_THAT(Parse(Replace(numeric, "kind = \"grouped\"\nlabels = \"out\"")),
              HasError(ErrorKind::kInput, "groups come from another output"));
}

TEST(Card, AReleasedFigureThatWasDrawnHasNoFormula) {
  EXPECT_THAT(Parse(Replace("differs =", "released_work = \"draw\"\ndiffers =")),
              HasError(ErrorKind::kInput, "so work has no formula"));
  const auto op = Parse(Replace("work = { bf16 = \"3*rows*total\" }", "released_work = \"draw\""));
  ASSERT_THAT(op, IsOk());
  EXPECT_TRUE(op->published.work_drawn);
}

TEST(Card, RefusesUnknownKeysEverywhere) {
  EXPECT_THAT(Parse(Replace("weight_published", "wait")),
              HasError(ErrorKind::kInput, "key 'wait' is unknown; known keys: name, summary"));
  EXPECT_THAT(Parse(Replace("residency", "resident")),
              HasError(ErrorKind::kInput, "[[inputs]] number 1: key 'resident' is unknown"));
  EXPECT_THAT(Parse(Replace("rel_l2", "l2")), HasError(ErrorKind::kInput, "key 'l2' is unknown"));
  EXPECT_THAT(Parse(Replace("engine = ", "machine = ")), HasError(ErrorKind::kInput, "machine"));
}

TEST(Card, RefusesNamesThatAreNotDeclaredOrDeclaredTwice) {
  EXPECT_THAT(Parse(Replace("ops = \"rows*total\"", "ops = \"row*total\"")),
              HasError(ErrorKind::kInput, "[[work]] number 1: ops: 'row*total' names 'row'"));
  EXPECT_THAT(Parse(Replace("ops = \"rows*total\"", "ops = \"rows*lens\"")),
              HasError(ErrorKind::kInput, "names the list 'lens'; sum it under [derived]"));
  EXPECT_THAT(Parse(Replace("name = \"out\"", "name = \"x\"")),
              HasError(ErrorKind::kInput, "'x' is declared twice"));
  EXPECT_THAT(Parse(Replace("rows = \"int\"", "min = \"int\"")),
              HasError(ErrorKind::kInput, "cannot be a name"));
  EXPECT_THAT(Parse(Replace("over = \"lens\", of = \"L\" }", "over = \"rows\", of = \"L\" }")),
              HasError(ErrorKind::kInput, "over = 'rows' is not a list axis (lists: lens)"));
}

TEST(Card, RefusesTypesOutsideTheirSets) {
  EXPECT_THAT(Parse(Replace("\"bf16\"", "\"bf17\"")), HasError(ErrorKind::kInput, "'bf17'"));
  EXPECT_THAT(Parse(Replace("\"warm\"", "\"hot\"")), HasError(ErrorKind::kInput, "'hot'"));
  EXPECT_THAT(Parse(Replace("\"vector_f32\"", "\"cube\"")), HasError(ErrorKind::kInput, "'cube'"));
  EXPECT_THAT(Parse(Replace("\"numeric\"", "\"fuzzy\"")), HasError(ErrorKind::kInput, "'fuzzy'"));
  EXPECT_THAT(Parse(Replace("\"int\"", "\"real\"")),
              HasError(ErrorKind::kInput, "must be \"int\""));
  EXPECT_THAT(Parse(Replace("rtol = 0.01", "rtol = -1")), HasError(ErrorKind::kInput, "rtol = -1"));
  EXPECT_THAT(Parse(Replace("\"max\"", "\"mean\"")), HasError(ErrorKind::kInput, "'mean'"));
}

TEST(Card, RefusesAFormulaWithoutItsReasonAndAnOutputWithoutTolerance) {
  EXPECT_THAT(Parse(Replace("source = \"one product an element\"", "source = \"\"")),
              HasError(ErrorKind::kInput, "source is empty"));
  EXPECT_THAT(Parse(Replace("[tolerance.out]", "[tolerance.y]")),
              HasError(ErrorKind::kInput, "belongs to no output"));
  EXPECT_THAT(Parse(std::string(kCard).substr(0, kCard.find("[tolerance.out]"))),
              HasError(ErrorKind::kInput, "[tolerance.out] is missing"));
  EXPECT_THAT(Parse(Replace("[traffic]", "[trafic]")), HasError(ErrorKind::kInput, "trafic"));
}

TEST(ShapeLine, GivesEachAxisWithItsType) {
  const auto op = Parse(kCard);
  const auto shape = ParseShape(*Json::Parse(kShape), *op);
  ASSERT_THAT(shape, IsOk());
  EXPECT_EQ(shape->phase, Phase::kDecode);
  const auto with = [&](std::string_view axes) {
    return ParseShape(
        *Json::Parse(
            fmt::format(R"({{"id": "1", "tier": "small", "phase": "decode", "axes": {}}})", axes)),
        *op);
  };
  EXPECT_THAT(with(R"({"rows": 2})"), HasError(ErrorKind::kInput, "axis 'lens' is missing"));
  EXPECT_THAT(with(R"({"rows": [2], "lens": [1]})"),
              HasError(ErrorKind::kInput, "axis 'rows' must be a size"));
  EXPECT_THAT(with(R"({"rows": 2, "lens": [1], "cols": 4})"),
              HasError(ErrorKind::kInput, "'cols' is neither an axis nor an attribute of scale"));
  EXPECT_THAT(with(R"({"rows": 2, "lens": [1], "s": 3})"), IsOk());
}

TEST(ShapeLine, RefusesAPublishedShapeWithoutItsFigures) {
  constexpr std::string_view kLine =
      R"({"id": "1", "tier": "published", "phase": "decode", "axes": {"rows": 1, "lens": []}})";
  EXPECT_THAT(ParseShape(*Json::Parse(kLine), *Parse(kCard)),
              HasError(ErrorKind::kInput, "needs its 'published' figures"));
}

class OperatorFolder : public testing::Test {
 protected:
  Result<Operator> Read(std::string_view card, std::string_view shapes) {
    const fs::path folder = dir_->path() / "scale";
    fs::create_directories(folder);
    TRY(WriteFile(folder / "operator.toml", card));
    TRY(WriteFile(folder / "shapes.jsonl", shapes));
    return ReadOperator(folder);
  }
  Result<TempDir> dir_ = TempDir::Make("roofmark-card");
};

TEST_F(OperatorFolder, IsReadWhole) {
  const auto op = Read(kCard, std::string(kShape) + "\n");
  ASSERT_THAT(op, IsOk());
  EXPECT_EQ(op->shapes.size(), 1u);
  EXPECT_EQ(op->folder, dir_->path() / "scale");
}

TEST_F(OperatorFolder, NamesFileAndPlaceOfAMistake) {
  EXPECT_THAT(Read(Replace("\"bf16\"", "\"bf17\""), kShape),
              HasError(ErrorKind::kInput, "scale/operator.toml: [[inputs]] number 1: 'bf17'"));
  EXPECT_THAT(Read(kCard, fmt::format("{0}\n{0}\n", kShape)),
              HasError(ErrorKind::kInput, "shapes.jsonl: shape \"s-a\": the id is used twice"));
  EXPECT_THAT(Read(Replace("name = \"scale\"", "name = \"scales\""), kShape),
              HasError(ErrorKind::kInput, "must be the folder's name, 'scale'"));
  EXPECT_THAT(Read(kCard, ""), HasError(ErrorKind::kInput, "there is no shape"));
  EXPECT_THAT(ReadOperator("/does/not/exist"), HasError(ErrorKind::kNotFound, "operator.toml"));
}

}  // namespace
}  // namespace roofmark::suite
