// SPDX-License-Identifier: Apache-2.0
// CUDA in the clear text of a candidate's files, for extensions that Python builds in the worker.
// What stands in a comment, or in a docstring, goes to no compiler and says nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofmark::gate {

// What a Python text can hand to a compiler: its string literals, without those that are statements
// of their own (docstrings), each followed by a line's end. "\n" in a literal that is not raw
// is a line's end.
std::string PythonStrings(std::string_view python);

// C++ without its comments and its literals, which become blanks.
std::string WithoutComments(std::string_view cxx);

// Names of the functions that are defined __global__ in a CUDA text: a declaration is none.
std::vector<std::string> CudaKernelNames(std::string_view cuda);

}  // namespace roofmark::gate
