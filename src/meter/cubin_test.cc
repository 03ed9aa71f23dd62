// SPDX-License-Identifier: Apache-2.0
#include "meter/cubin.h"

#include <elf.h>

#include <array>

#include "base/hash.h"
#include "base/testing.h"
#include "device/cuda_stage.h"
#include "device/real_cubin_for_tests.h"
#include "meter/sha256.h"

namespace roofmark::meter {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAre;

TEST(MeterSha256, EqualsTheJudgesForEveryLengthAroundABlock) {
  std::string text;
  for (int length = 0; length <= 200; ++length) {
    EXPECT_EQ(Sha256(text), Sha256Hex(text)) << length;
    text += static_cast<char>(length * 37);
  }
}

TEST(MeterSha256, KnowsTheStandardsExample) {
  EXPECT_EQ(Sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Cubin, IsNothingWithoutAnElfHeader) {
  EXPECT_EQ(CubinExtent("not a cubin"), 0U);
  EXPECT_THAT(CubinKernels("not a cubin"), IsEmpty());
  EXPECT_EQ(CubinHash("not a cubin"), Sha256("not a cubin"));
}

template <typename T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// An ELF file whose one symbol has this name and is defined in section `place`.
std::string WithSymbol(const std::string& name, uint16_t place) {
  const std::string names = std::string(1, '\0') + name + '\0';
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_shndx = place;
  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ehsize = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 2;
  header.e_shoff = sizeof header + names.size() + sizeof symbol;
  std::array<Elf64_Shdr, 2> sections{};
  sections[0].sh_type = SHT_STRTAB;
  sections[0].sh_offset = sizeof header;
  sections[0].sh_size = names.size();
  sections[1].sh_type = SHT_SYMTAB;
  sections[1].sh_link = 0;
  sections[1].sh_offset = sizeof header + names.size();
  sections[1].sh_size = sizeof symbol;
  return BytesOf(header) + names + BytesOf(symbol) + BytesOf(sections);
}

TEST(Cubin, LaunchesFromTheDeviceWhenItAsksTheDriverForThat) {
  EXPECT_TRUE(LaunchesFromDevice(WithSymbol("__cuda_syscall_cnpv2LaunchDeviceV2", SHN_UNDEF)));
  EXPECT_TRUE(LaunchesFromDevice(WithSymbol("cudaGraphLaunch", SHN_UNDEF)));
}

TEST(Cubin, LaunchesNothingByDefinitionsOrOtherCalls) {
  EXPECT_FALSE(LaunchesFromDevice(WithSymbol("cudaGraphLaunch", 1)));
  EXPECT_FALSE(LaunchesFromDevice(WithSymbol("vprintf", SHN_UNDEF)));
  EXPECT_FALSE(LaunchesFromDevice("not a cubin"));
  const std::string whole = WithSymbol("cudaGraphLaunch", SHN_UNDEF);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(LaunchesFromDevice(std::string_view(whole).substr(0, length))) << length;
  }
}

class RealCubin : public device::RealCubinTest {};

TEST_F(RealCubin, NamesItsKernels) {
  EXPECT_THAT(CubinKernels(cubin_),
              UnorderedElementsAre(device::kStageHold, device::kStageFlush, device::kStageMark,
                                   device::kStageWarm, device::kStageTouch, device::kStageProbe,
                                   device::kStageDisturb));
}

TEST_F(RealCubin, OfTheStageLaunchesNothingFromTheDevice) {
  EXPECT_FALSE(LaunchesFromDevice(cubin_));
}

TEST_F(RealCubin, HashesTheSameWithPaddingBehindIt) {
  EXPECT_EQ(CubinExtent(cubin_), cubin_.size());
  EXPECT_EQ(CubinHash(cubin_ + std::string(512, '\0')), CubinHash(cubin_));
}

TEST_F(RealCubin, HashesDifferentlyWhenAnythingInItChanges) {
  std::string changed = cubin_;
  changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
  EXPECT_NE(CubinHash(changed), CubinHash(cubin_));
}

TEST_F(RealCubin, CutShortIsReadWithoutHarm) {
  for (size_t length = 0; length < cubin_.size(); length += 97) {
    const std::string_view part = std::string_view(cubin_).substr(0, length);
    EXPECT_EQ(CubinExtent(part), 0U) << length;
    (void)CubinKernels(part);
  }
}

}  // namespace
}  // namespace roofmark::meter
