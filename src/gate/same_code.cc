// SPDX-License-Identifier: Apache-2.0
#include "gate/same_code.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <vector>

#include "meter/cubin.h"
#include "meter/read_at.h"

namespace roofmark::gate {
namespace {

struct Section {
  std::string_view name;
  Elf64_Shdr header;
  std::string_view bytes;  // none where the file holds none
  bool debugging = false;  // nothing of it is loaded
};

struct Object {
  Elf64_Ehdr header;
  std::vector<Section> sections;
  std::vector<Elf64_Phdr> segments;
};

// Cut off where no name goes on: a table of one endless name would be read for each symbol.
std::string_view NameAt(std::string_view table, uint64_t offset) {
  constexpr size_t kMost = 4096;
  if (offset >= table.size()) return {};
  const std::string_view name = table.substr(offset, kMost);
  return name.substr(0, name.find('\0'));
}

template <typename T>
bool ReadTable(std::string_view bytes, uint64_t offset, size_t count, uint16_t size,
               std::vector<T>* table) {
  if (count > 0 && size != sizeof(T)) return false;
  for (size_t i = 0; i < count; ++i) {
    const auto row = meter::ReadAt<T>(bytes, offset + i * sizeof(T));
    if (!row) return false;
    table->push_back(*row);
  }
  return true;
}

bool IsLoaded(const Elf64_Shdr& header) {
  return (header.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != 0;
}

bool IsForDebuggers(const Section& section) {
  if (IsLoaded(section.header) || section.header.sh_type == SHT_SYMTAB) return false;
  return section.name.starts_with(".debug_") || section.name.starts_with(".nv_debug_") ||
         section.name == ".note.nv.tkinfo";
}

bool Relocates(const Elf64_Shdr& header) {
  return header.sh_type == SHT_RELA || header.sh_type == SHT_REL;
}

void MarkDebugging(std::vector<Section>* sections) {
  for (Section& section : *sections) section.debugging = IsForDebuggers(section);
  for (Section& section : *sections) {
    const uint64_t target = section.header.sh_info;
    if (Relocates(section.header) && !IsLoaded(section.header) && target < sections->size()) {
      const Section& relocated = (*sections)[target];
      section.debugging = relocated.debugging && !Relocates(relocated.header);
    }
  }
}

std::optional<Object> Read(std::string_view bytes) {
  if (meter::CubinExtent(bytes) == 0) return std::nullopt;
  Object object{.header = *meter::ReadAt<Elf64_Ehdr>(bytes, 0)};
  const Elf64_Ehdr& header = object.header;
  std::vector<Elf64_Shdr> rows;
  if (!ReadTable(bytes, header.e_shoff, header.e_shnum, header.e_shentsize, &rows) ||
      !ReadTable(bytes, header.e_phoff, header.e_phnum, header.e_phentsize, &object.segments) ||
      header.e_shstrndx >= rows.size()) {
    return std::nullopt;
  }
  for (const Elf64_Shdr& row : rows) {
    Section section{.header = row};
    if (row.sh_type != SHT_NOBITS && row.sh_type != SHT_NULL) {
      if (row.sh_offset > bytes.size() || row.sh_size > bytes.size() - row.sh_offset) {
        return std::nullopt;
      }
      section.bytes = bytes.substr(row.sh_offset, row.sh_size);
    }
    object.sections.push_back(section);
  }
  const std::string_view names = object.sections[header.e_shstrndx].bytes;
  for (Section& section : object.sections) section.name = NameAt(names, section.header.sh_name);
  MarkDebugging(&object.sections);
  return object;
}

auto Facts(const Elf64_Ehdr& header) {
  return std::tuple(
      std::string_view(reinterpret_cast<const char*>(header.e_ident), sizeof header.e_ident),
      header.e_type, header.e_machine, header.e_version, header.e_entry, header.e_flags,
      header.e_phnum);
}

std::string_view NameOf(const Object& object, uint64_t index) {
  return index < object.sections.size() ? object.sections[index].name : std::string_view();
}

// What a section is, beside its contents. Numbers of other sections may differ where those for
// debuggers do, so they count by name.
auto Facts(const Object& object, const Section& section) {
  const Elf64_Shdr& header = section.header;
  const bool names_another = Relocates(header) || (header.sh_flags & SHF_INFO_LINK) != 0;
  // The contents of symbols and of their names are compared as symbols.
  const bool by_symbols =
      header.sh_type == SHT_SYMTAB || (header.sh_type == SHT_STRTAB && !IsLoaded(header));
  return std::tuple(section.name, header.sh_type, header.sh_flags, header.sh_addr,
                    by_symbols ? 0 : header.sh_size, NameOf(object, header.sh_link),
                    names_another ? NameOf(object, header.sh_info) : std::string_view(),
                    names_another || by_symbols ? 0 : header.sh_info, header.sh_addralign,
                    header.sh_entsize, by_symbols ? std::string_view() : section.bytes);
}

// Symbols but for those of sections for debuggers, in order.
auto SymbolsOf(const Object& object, const Section& table) {
  std::vector<
      std::tuple<std::string_view, int, int, std::string_view, uint64_t, uint64_t, uint64_t>>
      symbols;
  const uint64_t names = table.header.sh_link;
  for (uint64_t at = 0; const auto symbol = meter::ReadAt<Elf64_Sym>(table.bytes, at);
       at += sizeof *symbol) {
    const uint64_t place = symbol->st_shndx;
    const bool inside = place < object.sections.size() && place != SHN_UNDEF;
    if (inside && object.sections[place].debugging &&
        ELF64_ST_TYPE(symbol->st_info) == STT_SECTION) {
      continue;
    }
    symbols.emplace_back(names < object.sections.size()
                             ? NameAt(object.sections[names].bytes, symbol->st_name)
                             : std::string_view(),
                         symbol->st_info, symbol->st_other,
                         inside ? object.sections[place].name : std::string_view(),
                         inside ? 0 : place, symbol->st_value, symbol->st_size);
  }
  return symbols;
}

std::vector<const Section*> Kept(const Object& object) {
  std::vector<const Section*> kept;
  for (const Section& section : object.sections) {
    if (!section.debugging) kept.push_back(&section);
  }
  return kept;
}

// What a segment is, and which of the kept sections lie in it. Its extent varies with the gaps.
auto Facts(const Elf64_Phdr& segment, const std::vector<const Section*>& kept) {
  std::vector<size_t> holds;
  for (size_t i = 0; i < kept.size(); ++i) {
    const uint64_t begin = kept[i]->header.sh_offset;
    const uint64_t size = kept[i]->bytes.size();
    if (size > 0 && begin >= segment.p_offset && size <= segment.p_filesz &&
        begin - segment.p_offset <= segment.p_filesz - size) {
      holds.push_back(i);
    }
  }
  return std::tuple(segment.p_type, segment.p_flags, segment.p_align, holds);
}

bool SameSegments(const Object& one, const Object& other) {
  const auto kept_of_one = Kept(one);
  const auto kept_of_other = Kept(other);
  return std::ranges::equal(
      one.segments, other.segments, [&](const Elf64_Phdr& a, const Elf64_Phdr& b) {
        return a.p_type == b.p_type &&
               (a.p_type != PT_LOAD || Facts(a, kept_of_one) == Facts(b, kept_of_other));
      });
}

// A name out of a candidate's file, fit for a message.
std::string Shown(std::string_view name) {
  constexpr size_t kMost = 80;
  std::string text(name.substr(0, kMost));
  std::ranges::replace_if(text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

class Differences {
 public:
  void Add(std::string_view what) {
    constexpr size_t kMost = 4;
    if (++count_ > kMost) return;
    text_ += (text_.empty() ? "" : ", ") + Shown(what);
  }
  std::string Text() const { return text_; }

 private:
  std::string text_;
  size_t count_ = 0;
};

// Names the code of one that is nowhere in the other.
void AddCode(const Object& one, const Object& other, Differences* found) {
  for (const Section& section : one.sections) {
    if ((section.header.sh_flags & SHF_EXECINSTR) == 0) continue;
    const bool elsewhere = std::ranges::any_of(other.sections, [&](const Section& candidate) {
      return Facts(one, section) == Facts(other, candidate);
    });
    if (!elsewhere) found->Add("section " + std::string(section.name));
  }
}

}  // namespace

std::string CodeDifference(std::string_view one, std::string_view other) {
  const std::optional<Object> a = Read(one);
  const std::optional<Object> b = Read(other);
  if (!a || !b) return "no whole ELF file";
  Differences found;
  const auto sections = Kept(*a);
  const auto others = Kept(*b);
  for (size_t i = 0; i < std::max(sections.size(), others.size()); ++i) {
    if (i >= others.size()) {
      found.Add("section " + std::string(sections[i]->name) + " is one too many");
    } else if (i >= sections.size()) {
      found.Add("section " + std::string(others[i]->name) + " is missing");
    } else if (sections[i]->name != others[i]->name) {
      found.Add("section " + std::string(sections[i]->name) + " in the place of " +
                std::string(others[i]->name));
      // The rest is out of step; the code of it is what a person asks about.
      AddCode(*a, *b, &found);
      break;
    } else if (Facts(*a, *sections[i]) != Facts(*b, *others[i]) ||
               (sections[i]->header.sh_type == SHT_SYMTAB &&
                SymbolsOf(*a, *sections[i]) != SymbolsOf(*b, *others[i]))) {
      found.Add("section " + std::string(sections[i]->name));
    }
  }
  if (Facts(a->header) != Facts(b->header)) found.Add("the header");
  if (!SameSegments(*a, *b)) found.Add("the segments");
  return found.Text();
}

}  // namespace roofmark::gate
