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

}  // namespace

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
