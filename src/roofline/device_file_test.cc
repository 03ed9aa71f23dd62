// SPDX-License-Identifier: Apache-2.0
#include "roofline/device_file.h"

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::roofline {
namespace {

constexpr std::string_view kCard = R"(
name = "T"
aliases = ["Test One"]
kind = "cuda"
arch = "sm_90"
l2_bytes = 1000
[datasheet]
tensor_bf16 = 2e12
tensor_bf16_source = "a \"sheet\""
memory = 1e12
memory_source = "a sheet"
[measured]
note = "today"
launch_floor = 2e-6
launch_floor_source = "an empty kernel"
)";

Result<DeviceCard> Parse(const std::string& text) {
  return ParseDeviceCard(TRY(Json::ParseToml(text)));
}

Result<DeviceCard> ParseWith(std::string_view from, std::string_view to) {
  std::string text(kCard);
  text.replace(text.find(from), from.size(), to);
  return Parse(text);
}

TEST(DeviceCard, ReadsBothKindsOfCeilings) {
  const auto card = Parse(std::string(kCard));
  ASSERT_THAT(card, IsOk());
  EXPECT_EQ(card->datasheet.ops_per_s[static_cast<size_t>(Engine::kTensorBF16)], 2e12);
  EXPECT_EQ(card->datasheet.memory_bytes_per_s, 1e12);
  EXPECT_EQ(card->datasheet.sources.at("tensor_bf16"), "a \"sheet\"");
  EXPECT_EQ(card->measured.launch_floor_s, 2e-6);
  EXPECT_EQ(card->measured_note, "today");
}

TEST(DeviceCard, IsWrittenSoThatItReadsBack) {
  const auto dir = TempDir::Make("roofmark-device");
  const auto card = Parse(std::string(kCard));
  ASSERT_THAT(WriteDeviceCard(dir->path() / "t.toml", *card), IsOk());
  const auto back = ReadDeviceCard(dir->path() / "t.toml");
  ASSERT_THAT(back, IsOk());
  EXPECT_EQ(DeviceCardText(*back), DeviceCardText(*card));
  EXPECT_EQ(back->measured.launch_floor_s, 2e-6);
  EXPECT_EQ(DeviceCardText(*ParseDeviceCard(DeviceCardToJson(*card))), DeviceCardText(*card));
}

TEST(DeviceCard, RefusesANumberWithoutItsSource) {
  EXPECT_THAT(ParseWith("memory_source = \"a sheet\"", ""),
              HasError(ErrorKind::kInput, "[datasheet]: key 'memory_source' is missing"));
  EXPECT_THAT(ParseWith("\"a sheet\"", "\"\""), HasError(ErrorKind::kInput, "is empty"));
  EXPECT_THAT(ParseWith("note = \"today\"", ""),
              HasError(ErrorKind::kInput, "[measured]: key 'note'"));
}

TEST(DeviceCard, RefusesUnknownKeysAndRatesThatAreNotPositive) {
  EXPECT_THAT(ParseWith("tensor_bf16 =", "tensor_bf17 ="),
              HasError(ErrorKind::kInput, "'tensor_bf17'"));
  EXPECT_THAT(ParseWith("memory = 1e12", "memory = -1"), HasError(ErrorKind::kInput, "positive"));
  EXPECT_THAT(ParseWith("\"cuda\"", "\"tpu\""), HasError(ErrorKind::kInput, "kind = 'tpu'"));
  EXPECT_THAT(Parse("name = \"x\"\nkind = \"cpu\"\narch = \"x86\"\n"),
              HasError(ErrorKind::kInput, "neither [datasheet] nor [measured]"));
}

TEST(Devices, AreFoundByNameOrAliasInAnyCase) {
  const auto cards = ReadDevices(fs::path(ROOFMARK_SOURCE_DIR) / "devices");
  ASSERT_THAT(cards, IsOk());
  for (const char* name :
       {"H20", "xpu-a", "XPU-A3", "H100", "nvidia h200", "B200", "MI300X", "MI355X"}) {
    EXPECT_NE(FindDevice(*cards, name), nullptr) << name;
  }
  EXPECT_EQ(FindDevice(*cards, "gtx 480"), nullptr);
}

TEST(Devices, RefuseTwoCardsOfOneName) {
  const auto dir = TempDir::Make("roofmark-devices");
  ASSERT_THAT(WriteFile(dir->path() / "a.toml", kCard), IsOk());
  ASSERT_THAT(WriteFile(dir->path() / "b.toml", kCard), IsOk());
  EXPECT_THAT(ReadDevices(dir->path()), HasError(ErrorKind::kInput, "already names the device T"));
}

TEST(Devices, ShippedCardsStateASourceForEachNumberAndDensePeaks) {
  const auto cards = ReadDevices(fs::path(ROOFMARK_SOURCE_DIR) / "devices");
  ASSERT_THAT(cards, IsOk());
  for (const DeviceCard& card : *cards) {
    ASSERT_TRUE(card.datasheet.present) << card.name;
    const auto rate = [&](Engine engine) {
      return card.datasheet.ops_per_s[static_cast<size_t>(engine)];
    };
    // Twice the 16-bit rate is the dense fp8 rate on all of them; sparse peaks would break that.
    EXPECT_NEAR(rate(Engine::kTensorFp8) / rate(Engine::kTensorBF16), 2, 0.01) << card.name;
    EXPECT_GT(card.datasheet.memory_bytes_per_s, 1e12) << card.name;
    for (size_t i = 0; card.measured.present && i < kEngineCount; ++i) {
      EXPECT_LE(card.measured.ops_per_s[i], card.datasheet.ops_per_s[i]) << card.name;
    }
  }
}

TEST(FindDeviceCard, ReadsACardFileAndNamesWhatExists) {
  const auto dir = TempDir::Make("roofmark-device");
  ASSERT_THAT(WriteFile(dir->path() / "t.toml", kCard), IsOk());
  EXPECT_EQ(FindDeviceCard((dir->path() / "t.toml").string())->name, "T");
  EXPECT_THAT(FindDeviceCard("gtx 480"), HasError(ErrorKind::kNotFound, "known: B200, H100"));
}

TEST(FindDeviceCard, RecognisesADriversNameByItsWholeWords) {
  EXPECT_EQ(FindDeviceCard("NVIDIA H200 141GB HBM3e")->name, "H200");
  EXPECT_EQ(FindDeviceCard("NVIDIA H20-3e")->name, "H20");
  EXPECT_EQ(FindDeviceCard("AMD Instinct MI300X OAM")->name, "MI300X");
  EXPECT_THAT(FindDeviceCard("NVIDIA GB200"), HasError(ErrorKind::kNotFound, "GB200"));
  EXPECT_THAT(FindDeviceCard("NVIDIA H100 PCIe"), HasError(ErrorKind::kNotFound, "PCIe"));
  EXPECT_THAT(FindDeviceCard("NVIDIA H200 NVL"), HasError(ErrorKind::kNotFound, "NVL"));
}

}  // namespace
}  // namespace roofmark::roofline
