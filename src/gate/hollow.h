// SPDX-License-Identifier: Apache-2.0
// Cubins that do nothing: what a ghost replay (gate/ghost.h) puts in the place of a candidate's
// kernels. A kernel's first instruction becomes EXIT, so it can be found, loaded and launched with
// its own name, parameters and resources, and ends before it has read or written anything.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace roofmark::gate {

// The cubin, of the same length, with every function ending at once. Empty where that cannot be
// done: this is no cubin, or it holds no code. The encoding is that of sm_70 and later, as nvcc
// 13.0 writes it for sm_90a.
std::string Hollow(std::string_view cubin);

// Hollows these cubins where a library holds them, as they are (nvcc -no-compress). The text says
// why that cannot be done for every kernel in them; empty = it was.
std::string HollowLibrary(const std::vector<std::string>& cubins, std::string* library);

// Copies the cache of a language's compiler, with hollow *.cubin files, so that any user may read
// it and add to it. The text says why that cannot be done; empty = it was. Errors: kIo.
Result<std::string> HollowCache(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace roofmark::gate
