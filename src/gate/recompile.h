// SPDX-License-Identifier: Apache-2.0
// Whether the code objects in the cache of Triton's compiler are its work. The candidate's process
// can write to that cache, so the judge compiles again, from the intermediate code that lies beside
// each of them, in a fresh process that never runs code of the candidate, and compares the bytes.
// A cubin from elsewhere has no intermediate code that gives it.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/result.h"

namespace roofmark::gate {

// `files` are cubins in a cache of Triton's, by their hashes. The text says which is not what its
// compiler makes of the .ttir or .ttgir beside it, with the .json of options; empty = all are.
// Errors: the machine's.
Result<std::string> RecompileTriton(const std::map<std::string, std::filesystem::path>& files);

}  // namespace roofmark::gate
