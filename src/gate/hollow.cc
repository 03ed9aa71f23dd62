// SPDX-License-Identifier: Apache-2.0
#include "gate/hollow.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <set>
#include <system_error>

#include "base/files.h"
#include "gate/scratch_files.h"
#include "meter/cubin.h"
#include "meter/read_at.h"

namespace roofmark::gate {
namespace {

constexpr uint16_t kMachineCuda = 190;  // EM_CUDA in the ELF registry
// "EXIT ;" under no predicate, with the control bits that ptxas gives it.
constexpr std::array<unsigned char, 16> kExit = {0x4d, 0x79, 0,    0,    0, 0,    0,    0,
                                                 0,    0,    0x80, 0x03, 0, 0xea, 0x0f, 0};

// Zeros where the file ends too early.
template <typename T>
T At(std::string_view bytes, uint64_t offset) {
  return meter::ReadAt<T>(bytes, offset).value_or(T{});
}

// Puts `with`, of the same length, in the place of each occurrence. Returns how many there were.
size_t Replace(std::string& text, const std::string& what, const std::string& with) {
  size_t count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) {
    text.replace(at, with.size(), with);
    ++count;
  }
  return count;
}

}  // namespace

std::string Hollow(std::string_view cubin) {
  // It has looked at where the sections of a whole file lie.
  if (meter::CubinExtent(cubin) == 0) return "";
  const auto header = At<Elf64_Ehdr>(cubin, 0);
  if (header.e_machine != kMachineCuda) return "";
  std::string hollow(cubin);
  bool any = false;
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    const auto section = At<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize);
    const bool code = section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) != 0;
    if (!code || section.sh_size < kExit.size() || section.sh_offset > hollow.size() ||
        hollow.size() - section.sh_offset < kExit.size()) {
      continue;
    }
    std::memcpy(hollow.data() + section.sh_offset, kExit.data(), kExit.size());
    any = true;
  }
  return any ? hollow : "";
}

std::string HollowLibrary(const std::vector<std::string>& cubins, std::string* library) {
  std::set<std::string> hollowed;
  std::set<std::string> left;
  for (const std::string& cubin : cubins) {
    const std::string hollow = Hollow(cubin);
    if (hollow.empty()) continue;  // a linker's stub without code
    const bool found = Replace(*library, cubin, hollow) > 0;
    for (std::string& kernel : meter::CubinKernels(cubin)) {
      (found ? hollowed : left).insert(std::move(kernel));
    }
  }
  if (hollowed.empty()) return "its library holds none of its cubins in the clear";
  // What was compiled apart and linked later is in the library by its linked form alone.
  if (!std::ranges::includes(hollowed, left)) return "some of its cubins could not be found";
  return "";
}

Result<std::string> HollowCache(const fs::path& from, const fs::path& to) {
  constexpr uintmax_t kMostBytes = uintmax_t{1} << 30;
  size_t cubins = 0;
  uintmax_t bytes = 0;
  for (const fs::path& file : ScratchFiles(from, "")) {
    const Result<std::string> read = ReadFile(file);
    if (!read) return std::string("its compiler's cache changes while it is read");
    std::string text = *read;
    bytes += text.size();
    if (bytes > kMostBytes) return std::string("its compiler's cache is larger than 1 GiB");
    if (file.extension() == ".cubin") {
      // What is none cannot run, and stays what it is.
      if (std::string hollow = Hollow(text); !hollow.empty()) {
        text = std::move(hollow);
        ++cubins;
      }
    }
    const fs::path target = to / file.lexically_relative(from);
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    TRY(WriteFile(target, text));
    // The worker may be another user, and adds to its cache.
    fs::permissions(target, fs::perms::all, error);
    for (fs::path folder = target.parent_path(); folder != to.parent_path();
         folder = folder.parent_path()) {
      fs::permissions(folder, fs::perms::all, error);
    }
  }
  return std::string(cubins > 0 ? "" : "its compiler's cache holds no cubin");
}

}  // namespace roofmark::gate
