// SPDX-License-Identifier: Apache-2.0
#include "agent/family.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::agent {
namespace {

constexpr const char* kCard = R"(
name = "toy"
operator = "rms_norm"
lane = "cpp"
template = "toy.cc.in"
summary = "a toy"
[[parameters]]
name = "width"
values = [1, 2, 4]
why = "wider"
[[parameters]]
name = "isa"
values = ["plain", "fancy"]
why = "fancier"
[[excludes]]
width = 4
isa = "plain"
)";
constexpr const char* kTemplate =
    "// roofmark-parameters: @parameters@\nint w = @width@; // a@b.org\nint @isa@;\n";

class FamilyFolder : public testing::Test {
 protected:
  Result<Family> Read(const std::string& card, const std::string& source) {
    EXPECT_THAT(WriteFile(dir_.path() / "toy/family.toml", card), IsOk());
    EXPECT_THAT(WriteFile(dir_.path() / "toy/toy.cc.in", source), IsOk());
    return ReadFamily(dir_.path() / "toy");
  }
  static std::string With(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }
  TempDir dir_ = *TempDir::Make("roofmark-family");
};

TEST_F(FamilyFolder, RendersItsMembers) {
  const auto family = Read(kCard, kTemplate);
  ASSERT_THAT(family, IsOk());
  EXPECT_EQ(family->MemberCount(), 5u);
  EXPECT_EQ(family->Render({1, 1}),
            "// roofmark-parameters: {\"width\": 2, \"isa\": \"fancy\"}\nint w = 2; // a@b.org\n"
            "int fancy;\n");
  EXPECT_FALSE(family->Exists({2, 0}));
}

TEST_F(FamilyFolder, KnowsItsMembersAgain) {
  const auto family = Read(kCard, kTemplate);
  ASSERT_THAT(family, IsOk());
  const std::string kernel = family->Render({1, 1});
  EXPECT_EQ(family->MemberIn(kernel), (Point{1, 1}));
  EXPECT_EQ(family->MemberIn(kernel + "// edited\n"), std::nullopt);
  EXPECT_EQ(family->MemberIn("int main() {}"), std::nullopt);
  EXPECT_EQ(family->PointOf(family->ValuesOf({0, 1})), (Point{0, 1}));
  EXPECT_EQ(family->PointOf(Json::MakeObject().Set("width", 4).Set("isa", "plain")), std::nullopt);
}

TEST_F(FamilyFolder, SaysWhatIsWrongWithACard) {
  EXPECT_THAT(Read(With(kCard, "summary", "sumary"), kTemplate),
              HasError(ErrorKind::kInput, "sumary"));
  EXPECT_THAT(Read(With(kCard, "[1, 2, 4]", "[]"), kTemplate),
              HasError(ErrorKind::kInput, "[[parameters]] number 1: values is empty"));
  EXPECT_THAT(Read(With(kCard, "[1, 2, 4]", "[1, 1]"), kTemplate),
              HasError(ErrorKind::kInput, "value 1 is there twice"));
  EXPECT_THAT(Read(With(kCard, "[1, 2, 4]", "[1.5]"), kTemplate),
              HasError(ErrorKind::kInput, "value 1.5 is neither"));
  EXPECT_THAT(Read(With(kCard, "name = \"isa\"", "name = \"width\""), kTemplate),
              HasError(ErrorKind::kInput, "'width' is there twice"));
  EXPECT_THAT(Read(With(kCard, "width = 4", "width = 5"), kTemplate),
              HasError(ErrorKind::kInput, "[[excludes]] number 1: width = 5 is no value"));
  EXPECT_THAT(Read(With(kCard, "toy.cc.in", "../toy.cc.in"), kTemplate),
              HasError(ErrorKind::kInput, "own folder"));
}

TEST_F(FamilyFolder, SaysWhatIsWrongWithATemplate) {
  EXPECT_THAT(Read(kCard, With(kTemplate, "@isa@", "@ias@")),
              HasError(ErrorKind::kInput, "@ias@, which is no parameter"));
  EXPECT_THAT(Read(kCard, With(kTemplate, "@isa@", "isa")),
              HasError(ErrorKind::kInput, "does not use @isa@"));
  EXPECT_THAT(Read(kCard, With(kTemplate, "roofmark-parameters: ", "")),
              HasError(ErrorKind::kInput, "has no line"));
}

TEST_F(FamilyFolder, IsFoundByOperatorAndLane) {
  ASSERT_THAT(Read(kCard, kTemplate), IsOk());
  EXPECT_THAT(FindFamily(dir_.path(), "rms_norm", Lane::kCpp), IsOk());
  EXPECT_THAT(FindFamily(dir_.path(), "rms_norm", Lane::kCuda),
              HasError(ErrorKind::kNotFound, "there are: toy (rms_norm, cpp)"));
}

TEST(ShippedFamilies, AreWellFormedAndLarge) {
  const auto family =
      FindFamily(fs::path(ROOFMARK_SOURCE_DIR) / "examples/families", "rms_norm", Lane::kCpp);
  ASSERT_THAT(family, IsOk());
  EXPECT_GE(family->MemberCount(), 100u);
}

}  // namespace
}  // namespace roofmark::agent
