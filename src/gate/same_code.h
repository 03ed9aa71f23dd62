// SPDX-License-Identifier: Apache-2.0
// Whether two cubins are the same but for what a debugger reads. Compilers write the time and the
// size of their source file into .debug_line, so that the same code, compiled twice, is not the
// same bytes. One of the two comes out of a candidate's folder: nothing in it is believed.
#pragma once

#include <string>
#include <string_view>

namespace roofmark::gate {

// Where they differ, for a person ("section .text.silu"); empty where they are the same: header,
// order, names, types, flags and contents of all sections, symbols, and which sections lie in which
// segment. Left out are sections .debug_*, .nv_debug_* and .note.nv.tkinfo (the tool's own name)
// that are not loaded, relocations of them, their symbols, and where in the file things lie.
// Something that is no whole ELF file is the same as nothing.
std::string CodeDifference(std::string_view one, std::string_view other);

}  // namespace roofmark::gate
