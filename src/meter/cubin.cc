// SPDX-License-Identifier: Apache-2.0
#include "meter/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "meter/read_at.h"
#include "meter/sha256.h"

namespace roofmark::meter {
namespace {

constexpr std::string_view kCode = ".text.";
// What device code asks the driver for when it launches something.
constexpr std::string_view kLaunchCall = "__cuda_syscall_cnpv2Launch";
constexpr std::string_view kGraphLaunchCall = "cudaGraphLaunch";

std::optional<Elf64_Ehdr> Header(std::string_view bytes) {
  const auto header = ReadAt<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64) {
    return std::nullopt;
  }
  return header;
}

std::vector<Elf64_Shdr> Sections(std::string_view bytes, const Elf64_Ehdr& header) {
  std::vector<Elf64_Shdr> sections;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = ReadAt<Elf64_Shdr>(bytes, header.e_shoff + i * header.e_shentsize);
    if (!section) return {};
    sections.push_back(*section);
  }
  return sections;
}

std::string_view Part(std::string_view bytes, const Elf64_Shdr& section) {
  if (section.sh_offset > bytes.size() || section.sh_size > bytes.size() - section.sh_offset) {
    return {};
  }
  return bytes.substr(section.sh_offset, section.sh_size);
}

std::string_view NameAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size()) return {};
  const std::string_view name = table.substr(offset);
  return name.substr(0, name.find('\0'));
}

constexpr uint16_t kMachineCuda = 190;      // EM_CUDA in the ELF registry
constexpr unsigned char kCudaEntry = 0x10;  // STO_CUDA_ENTRY, as readelf shows it of nvcc's kernels

bool IsCode(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_EXECINSTR) != 0;
}

// A name that ends within its table; nothing where there is none.
std::optional<std::string_view> WholeNameAt(std::string_view table, uint64_t offset) {
  if (offset >= table.size() || table.find('\0', offset) == std::string_view::npos) {
    return std::nullopt;
  }
  return NameAt(table, offset);
}

// A cubin whose header and sections are as the format says, without any of its ways around.
struct PlainFile {
  std::vector<Elf64_Shdr> sections;
  std::vector<std::string_view> names;  // of the sections
};

std::optional<PlainFile> ReadPlain(std::string_view bytes) {
  const auto header = Header(bytes);
  const bool usual = header && header->e_ident[EI_DATA] == ELFDATA2LSB &&
                     header->e_machine == kMachineCuda &&
                     header->e_shentsize == sizeof(Elf64_Shdr) && header->e_shnum > 0 &&
                     header->e_shnum < SHN_LORESERVE && header->e_shstrndx < header->e_shnum &&
                     CubinExtent(bytes) != 0;
  if (!usual) return std::nullopt;
  PlainFile file{.sections = Sections(bytes, *header), .names = {}};
  if (file.sections.size() != header->e_shnum) return std::nullopt;
  const Elf64_Shdr& table = file.sections[header->e_shstrndx];
  if (table.sh_type != SHT_STRTAB) return std::nullopt;
  for (const Elf64_Shdr& section : file.sections) {
    const auto name = WholeNameAt(Part(bytes, table), section.sh_name);
    const bool is_symbols = section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM;
    const bool fits = name && IsCode(section) == name->starts_with(kCode) &&
                      (*name != ".symtab" || is_symbols) &&
                      (!is_symbols || section.sh_entsize == sizeof(Elf64_Sym));
    if (!fits) return std::nullopt;
    file.names.push_back(*name);
  }
  return file;
}

// Adds the functions of a table of symbols, and marks the sections that are named after one of
// them. False where one of them is not what it should be.
bool AddFunctions(std::string_view bytes, const PlainFile& file, const Elf64_Shdr& table,
                  std::vector<bool>* named, std::vector<std::string>* names) {
  if (table.sh_link >= file.sections.size()) return false;
  const Elf64_Shdr& texts = file.sections[table.sh_link];
  const std::string_view symbols = Part(bytes, table);
  if (texts.sh_type != SHT_STRTAB || symbols.size() != table.sh_size) return false;
  for (uint64_t at = 0; at < symbols.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = ReadAt<Elf64_Sym>(symbols, at);
    if (!symbol) return false;
    if (symbol->st_shndx == SHN_UNDEF) continue;
    const bool is_function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC;
    if (!is_function && (symbol->st_other & kCudaEntry) == 0) continue;
    const auto name = WholeNameAt(Part(bytes, texts), symbol->st_name);
    const uint64_t place = symbol->st_shndx;
    const bool in_code = place < file.sections.size() && IsCode(file.sections[place]);
    if (!is_function || !name || name->empty() || !in_code) return false;
    if (file.names[place].substr(kCode.size()) == *name) (*named)[place] = true;
    names->emplace_back(*name);
  }
  return true;
}

}  // namespace

CubinNames ReadCubinNames(std::string_view bytes) {
  CubinNames found{.plain = false, .names = CubinKernels(bytes)};
  const std::optional<PlainFile> file = ReadPlain(bytes);
  if (!file) return found;
  bool plain = true;
  std::vector<bool> named(file->sections.size());
  for (const Elf64_Shdr& section : file->sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    plain = AddFunctions(bytes, *file, section, &named, &found.names) && plain;
  }
  for (size_t i = 0; i < named.size(); ++i) {
    plain = plain && (named[i] || !IsCode(file->sections[i]));
  }
  found.plain = plain;
  std::ranges::sort(found.names);
  const auto repeated = std::ranges::unique(found.names);
  found.names.erase(repeated.begin(), repeated.end());
  return found;
}

size_t CubinExtent(std::string_view bytes) {
  const auto header = Header(bytes);
  if (!header) return 0;
  uint64_t end = header->e_ehsize;
  end = std::max<uint64_t>(end, header->e_shoff + uint64_t{header->e_shnum} * header->e_shentsize);
  end = std::max<uint64_t>(end, header->e_phoff + uint64_t{header->e_phnum} * header->e_phentsize);
  for (const Elf64_Shdr& section : Sections(bytes, *header)) {
    if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
    if (section.sh_offset > bytes.size() || section.sh_size > bytes.size()) return 0;
    end = std::max(end, section.sh_offset + section.sh_size);
  }
  return end <= bytes.size() ? end : 0;
}

std::vector<std::string> CubinKernels(std::string_view bytes) {
  const auto header = Header(bytes);
  if (!header) return {};
  const std::vector<Elf64_Shdr> sections = Sections(bytes, *header);
  if (header->e_shstrndx >= sections.size()) return {};
  const std::string_view table = Part(bytes, sections[header->e_shstrndx]);
  std::vector<std::string> kernels;
  for (const Elf64_Shdr& section : sections) {
    const std::string_view name = NameAt(table, section.sh_name);
    if (name.starts_with(kCode)) kernels.emplace_back(name.substr(kCode.size()));
  }
  return kernels;
}

bool LaunchesFromDevice(std::string_view bytes) {
  const auto header = Header(bytes);
  if (!header) return false;
  const std::vector<Elf64_Shdr> sections = Sections(bytes, *header);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    const std::string_view names = Part(bytes, sections[section.sh_link]);
    const std::string_view symbols = Part(bytes, section);
    for (uint64_t at = 0; const auto symbol = ReadAt<Elf64_Sym>(symbols, at);
         at += sizeof *symbol) {
      if (symbol->st_shndx != SHN_UNDEF) continue;
      const std::string_view name = NameAt(names, symbol->st_name);
      if (name.starts_with(kLaunchCall) || name == kGraphLaunchCall) return true;
    }
  }
  return false;
}

std::string CubinHash(std::string_view bytes) {
  const size_t extent = CubinExtent(bytes);
  return Sha256(extent == 0 ? bytes : bytes.substr(0, extent));
}

}  // namespace roofmark::meter
