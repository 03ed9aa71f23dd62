// SPDX-License-Identifier: Apache-2.0
#include "gate/same_code.h"

#include <elf.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "base/testing.h"
#include "device/real_cubin_for_tests.h"

namespace roofmark::gate {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Piece {
  std::string name;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = 0;
  std::string bytes;
  uint32_t link = 0;
  uint32_t info = 0;
};

template <typename T>
std::string BytesOf(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

Elf64_Sym Symbol(uint32_t name, int type, uint16_t section, uint64_t value = 0) {
  Elf64_Sym symbol{};
  symbol.st_name = name;
  symbol.st_info = static_cast<unsigned char>(ELF64_ST_INFO(STB_GLOBAL, type));
  symbol.st_shndx = section;
  symbol.st_value = value;
  return symbol;
}

// A small cubin, laid out as ptxas does: names, symbols, what debuggers read, code, constants.
class Cubin {
 public:
  Cubin() {
    const std::string names("\0k\0other\0", 9);
    pieces = {{.name = ".shstrtab", .type = SHT_STRTAB},
              {.name = ".strtab", .type = SHT_STRTAB, .bytes = names},
              {.name = ".symtab",
               .type = SHT_SYMTAB,
               .bytes = BytesOf(Symbol(0, STT_SECTION, 4)) + BytesOf(Symbol(1, STT_FUNC, 7)),
               .link = 2},
              {.name = ".debug_line", .bytes = "written on Monday"},
              {.name = ".nv.info.k",
               .type = SHT_LOPROC,
               .flags = SHF_INFO_LINK,
               .bytes = "info",
               .link = 3,
               .info = 7},
              {.name = ".rela.debug_line",
               .type = SHT_RELA,
               .flags = SHF_INFO_LINK,
               .bytes = "points to code",
               .link = 3,
               .info = 4},
              {.name = ".text.k",
               .flags = SHF_ALLOC | SHF_EXECINSTR,
               .bytes = "LDG FMUL STG EXIT",
               .link = 3,
               .info = 0x20000001},
              {.name = ".nv.shared.k", .type = SHT_NOBITS, .flags = SHF_ALLOC, .info = 7},
              {.name = ".nv.constant0.k", .flags = SHF_ALLOC, .bytes = "parameters", .info = 7}};
  }

  Piece& operator[](const std::string& name) {
    return *std::ranges::find(pieces, name, &Piece::name);
  }

  std::string File() const {
    std::string names(1, '\0');
    std::vector<Elf64_Shdr> rows(1);
    std::string body;
    for (const Piece& piece : pieces) {
      Elf64_Shdr row{};
      row.sh_name = static_cast<uint32_t>(names.size());
      row.sh_type = piece.type;
      row.sh_flags = piece.flags;
      row.sh_link = piece.link;
      row.sh_info = piece.info;
      row.sh_addralign = 1;
      row.sh_offset = sizeof(Elf64_Ehdr) + body.size();
      row.sh_size = piece.type == SHT_NOBITS ? shared_bytes : piece.bytes.size();
      names += piece.name + '\0';
      if (piece.type != SHT_NOBITS) body += piece.bytes;
      rows.push_back(row);
    }
    rows[1].sh_offset = sizeof(Elf64_Ehdr) + body.size();
    rows[1].sh_size = names.size();
    body += names;
    Elf64_Ehdr header{};
    std::copy_n(ELFMAG, SELFMAG, header.e_ident);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = 190;
    header.e_flags = flags;
    header.e_ehsize = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<uint16_t>(rows.size());
    header.e_shstrndx = 1;
    header.e_shoff = sizeof header + body.size();
    header.e_phoff = header.e_shoff + rows.size() * sizeof(Elf64_Shdr);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    std::string file = BytesOf(header) + body;
    for (const Elf64_Shdr& row : rows) file += BytesOf(row);
    // One segment from a piece to the end of the last.
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_offset = rows[segment_from].sh_offset;
    segment.p_filesz = rows.back().sh_offset + rows.back().sh_size - segment.p_offset;
    return file + BytesOf(segment);
  }

  std::vector<Piece> pieces;
  uint32_t flags = 90;
  uint64_t shared_bytes = 1024;
  size_t segment_from = 7;
};

std::string After(const std::function<void(Cubin&)>& change) {
  Cubin changed;
  change(changed);
  return CodeDifference(changed.File(), Cubin().File());
}

TEST(SameCode, IsTheSameWhereOnlyTheDebuggersLinesDiffer) {
  EXPECT_EQ(CodeDifference(Cubin().File(), Cubin().File()), "");
  EXPECT_EQ(After([](Cubin& c) { c[".debug_line"].bytes = "on some later day of the week"; }), "");
  EXPECT_EQ(After([](Cubin& c) { c[".rela.debug_line"].bytes = "points elsewhere"; }), "");
}

TEST(SameCode, NamesTheSectionThatDiffers) {
  EXPECT_EQ(After([](Cubin& c) { c[".text.k"].bytes[4] = 'X'; }), "section .text.k");
  EXPECT_EQ(After([](Cubin& c) { c[".nv.info.k"].bytes = "more"; }), "section .nv.info.k");
  EXPECT_EQ(After([](Cubin& c) { c[".nv.constant0.k"].bytes = "Parameters"; }),
            "section .nv.constant0.k");
  EXPECT_EQ(After([](Cubin& c) { c[".text.k"].info = 0x40000001; }), "section .text.k");
  EXPECT_THAT(After([](Cubin& c) {
                c[".text.k"].bytes[0] = 'X';
                c[".nv.info.k"].bytes = "more";
              }),
              "section .nv.info.k, section .text.k");
}

TEST(SameCode, CountsTheSizeOfWhatTheFileDoesNotHold) {
  EXPECT_EQ(After([](Cubin& c) { c.shared_bytes = 2048; }), "section .nv.shared.k");
}

TEST(SameCode, CountsSymbolsAndTheirNames) {
  EXPECT_EQ(After([](Cubin& c) {
              c[".symtab"].bytes =
                  BytesOf(Symbol(0, STT_SECTION, 4)) + BytesOf(Symbol(3, STT_FUNC, 7));
            }),
            "section .symtab");
  EXPECT_EQ(After([](Cubin& c) {
              c[".symtab"].bytes =
                  BytesOf(Symbol(0, STT_SECTION, 4)) + BytesOf(Symbol(1, STT_FUNC, 7, 64));
            }),
            "section .symtab");
  // A function that lies in what debuggers read is no matter of theirs.
  EXPECT_EQ(After([](Cubin& c) {
              c[".symtab"].bytes =
                  BytesOf(Symbol(0, STT_SECTION, 4)) + BytesOf(Symbol(1, STT_FUNC, 4));
            }),
            "section .symtab");
}

TEST(SameCode, NamesWhatIsMissingOrOneTooMany) {
  EXPECT_EQ(After([](Cubin& c) { c.pieces.pop_back(); }),
            "section .nv.constant0.k is missing, the segments");
  EXPECT_EQ(After([](Cubin& c) { c.pieces.push_back({.name = ".text.x", .bytes = "EXIT"}); }),
            "section .text.x is one too many, the segments");
  EXPECT_THAT(After([](Cubin& c) { c[".text.k"].name = ".text.other"; }),
              HasSubstr("section .text.other in the place of .text.k"));
  EXPECT_THAT(After([](Cubin& c) {
                c[".nv.info.k"].name = ".nv.compat";
                c[".text.k"].bytes[0] = 'X';
              }),
              HasSubstr("section .nv.compat in the place of .nv.info.k, section .text.k"));
}

TEST(SameCode, CodeThatIsCalledLikeADebuggersSectionIsCode) {
  const Piece hidden{.name = ".debug_x", .flags = SHF_ALLOC | SHF_EXECINSTR, .bytes = "EXIT"};
  EXPECT_THAT(After([&](Cubin& c) { c.pieces.push_back(hidden); }),
              HasSubstr("section .debug_x is one too many"));
  EXPECT_THAT(After([](Cubin& c) { c[".debug_line"].flags = SHF_ALLOC; }),
              HasSubstr("section .debug_line"));
}

TEST(SameCode, ARelocationOfCodeThatIsCalledLikeADebuggersIsOne) {
  EXPECT_THAT(After([](Cubin& c) { c[".rela.debug_line"].info = 7; }),
              HasSubstr("section .rela.debug_line"));
}

TEST(SameCode, CountsTheHeaderAndTheSegments) {
  EXPECT_EQ(After([](Cubin& c) { c.flags = 80; }), "the header");
  EXPECT_EQ(After([](Cubin& c) { c.segment_from = 9; }), "the segments");
}

TEST(SameCode, IsNothingOfWhatIsCutShort) {
  const std::string whole = Cubin().File();
  EXPECT_EQ(CodeDifference("", whole), "no whole ELF file");
  EXPECT_EQ(CodeDifference(whole, "not a cubin"), "no whole ELF file");
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(CodeDifference(whole.substr(0, length), whole), "") << length;
  }
}

TEST(SameCode, ReadsHostileNumbersWithoutHarm) {
  const std::string whole = Cubin().File();
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    for (const char value : {'\x00', '\x7f', '\xff'}) {
      changed[at] = value;
      CodeDifference(changed, whole);
      CodeDifference(whole, changed);
    }
  }
}

TEST(SameCode, ShowsNoNameThatCouldSteerATerminal) {
  EXPECT_THAT(After([](Cubin& c) { c[".text.k"].name = ".text.\x1b[2J" + std::string(500, 'a'); }),
              testing::AllOf(Not(HasSubstr("\x1b")), Not(HasSubstr(std::string(100, 'a')))));
}

class SameCodeOfARealCubinTest : public device::RealCubinTest {};

TEST_F(SameCodeOfARealCubinTest, FindsEachByteOfItsCode) {
  EXPECT_EQ(CodeDifference(cubin_, cubin_), "");
  const size_t exit = cubin_.find("\x4d\x79");
  ASSERT_NE(exit, cubin_.npos);
  std::string changed = cubin_;
  changed[exit] = 0;
  EXPECT_THAT(CodeDifference(changed, cubin_), HasSubstr("section .text."));
}

}  // namespace
}  // namespace roofmark::gate
