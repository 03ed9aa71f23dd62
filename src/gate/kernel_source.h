// SPDX-License-Identifier: Apache-2.0
// Where the source of a kernel of Triton's stands. The intermediate code beside a cubin in the
// cache of Triton's compiler names the file and line of the function that it was made of, and ptxas
// writes that file's name into the cubin's table of lines. A kernel is the candidate's when that is
// one of its files: what some other compiler wrote elsewhere (TorchInductor, wherever its cache
// is) is not, whatever it is called.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gate/cached_code.h"

namespace roofmark::gate {

// The file that the public function of a module in Triton's (.ttir) or Gluon's (.ttgir) language
// was read from, by the location behind its body; empty where it does not say.
std::string FileOfKernel(std::string_view module);

// Whether function `name` of one Python text stands in another as well, line by line (blanks around
// lines and empty lines left out): TorchInductor copies kernels of the candidate's that a compiled
// function calls.
bool SameFunction(std::string_view name, std::string_view text, std::string_view other);

// The candidate's own files.
struct OwnSource {
  std::vector<std::string> folders;  // as its worker names them, each with a '/' at the end
  std::string text;                  // all of them, one behind the other
};

// Of the code objects that ran as the language's, as its compiler left them in the scratch folder,
// the first that was made of no file of the candidate's, in words; empty when there is none.
std::string ForeignSource(const std::vector<CachedCode>& ran, const std::filesystem::path& scratch,
                          const OwnSource& own);

}  // namespace roofmark::gate
