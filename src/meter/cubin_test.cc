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

// An ELF file for CUDA as ptxas writes it: one kernel k, its code and its symbol.
struct SmallCubin {
  std::string names = std::string("\0.shstrtab\0.strtab\0.symtab\0.text.k\0", 35);
  std::string texts = std::string("\0k\0", 3);
  Elf64_Ehdr header{};
  std::array<Elf64_Shdr, 5> sections{};
  Elf64_Sym symbol{};

  SmallCubin() {
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = 190;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 5;
    header.e_shstrndx = 1;
    sections[1] = {.sh_name = 1, .sh_type = SHT_STRTAB};
    sections[2] = {.sh_name = 11, .sh_type = SHT_STRTAB};
    sections[3] = {.sh_name = 19, .sh_type = SHT_SYMTAB, .sh_link = 2};
    sections[3].sh_entsize = sizeof symbol;
    sections[4] = {.sh_name = 27, .sh_type = SHT_PROGBITS, .sh_flags = SHF_EXECINSTR};
    symbol.st_name = 1;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_other = 0x10;
    symbol.st_shndx = 4;
  }
  std::string Bytes() {
    const std::array<std::string, 4> parts = {names, texts, BytesOf(symbol), std::string(16, 'c')};
    std::string body;
    for (size_t i = 0; i < parts.size(); ++i) {
      sections[i + 1].sh_offset = sizeof header + body.size();
      sections[i + 1].sh_size = parts[i].size();
      body += parts[i];
    }
    header.e_shoff = sizeof header + body.size();
    return BytesOf(header) + body + BytesOf(sections);
  }
};

TEST(CubinNames, OfAPlainCubinAreThoseOfItsFunctions) {
  SmallCubin cubin;
  const CubinNames found = ReadCubinNames(cubin.Bytes());
  EXPECT_TRUE(found.plain);
  EXPECT_THAT(found.names, UnorderedElementsAre("k"));
}

TEST(CubinNames, AreNotKnownWhereTheFileIsMadeToHideThem) {
  const auto plain = [](auto change) {
    SmallCubin cubin;
    change(cubin);
    return ReadCubinNames(cubin.Bytes()).plain;
  };
  EXPECT_TRUE(plain([](SmallCubin&) {}));
  // The index of the names elsewhere, as ELF has it for large ones; and so the count of sections.
  EXPECT_FALSE(plain([](SmallCubin& c) {
    c.sections[0].sh_link = 1;
    c.header.e_shstrndx = SHN_XINDEX;
  }));
  EXPECT_FALSE(plain([](SmallCubin& c) {
    c.sections[0].sh_size = 5;
    c.header.e_shnum = 0;
  }));
  // Another name for the section of the code, or for that of the symbols.
  EXPECT_FALSE(plain([](SmallCubin& c) { c.names[28] = 'T'; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.sections[3].sh_type = SHT_PROGBITS; }));
  // Code that is not marked as code, functions out of it, of no name, or of none of its sections.
  EXPECT_FALSE(plain([](SmallCubin& c) { c.sections[4].sh_flags = 0; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.symbol.st_shndx = SHN_XINDEX; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.symbol.st_info = STT_OBJECT; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.symbol.st_name = 77; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.texts[1] = 'j'; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.sections[3].sh_entsize = 48; }));
  EXPECT_FALSE(plain([](SmallCubin& c) { c.header.e_machine = EM_X86_64; }));
  EXPECT_FALSE(ReadCubinNames("not a cubin").plain);
}

// A section may be called after one function and hold another as well.
TEST(CubinNames, HoldWhatSymbolsSayBesideTheSections) {
  SmallCubin cubin;
  cubin.texts[1] = 'j';
  EXPECT_THAT(ReadCubinNames(cubin.Bytes()).names, UnorderedElementsAre("j", "k"));
  const std::string whole = cubin.Bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(ReadCubinNames(std::string_view(whole).substr(0, length)).plain) << length;
  }
}

class RealCubin : public device::RealCubinTest {};

TEST_F(RealCubin, NamesItsKernels) {
  EXPECT_THAT(CubinKernels(cubin_),
              UnorderedElementsAre(device::kStageHold, device::kStageFlush, device::kStageMark,
                                   device::kStageWarm, device::kStageTouch, device::kStageProbe,
                                   device::kStageDisturb));
}

TEST_F(RealCubin, IsPlain) {
  const CubinNames found = ReadCubinNames(cubin_);
  EXPECT_TRUE(found.plain);
  EXPECT_THAT(found.names, testing::IsSupersetOf(CubinKernels(cubin_)));
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
