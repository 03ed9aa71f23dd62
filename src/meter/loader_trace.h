// SPDX-License-Identifier: Apache-2.0
// Which shared object asked the driver for something: read off the call stack.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace roofmark::meter {

// True for the objects that stand between a program and the driver: libcuda, libcudart, CUPTI, the
// meter itself and the C library. A file that the program may have written is none, whatever it is
// called.
bool IsPlumbing(std::string_view path);

// Whether the file at this path may be one that the program put there: by where the sandbox lets it
// write, and what is mounted there. The main program's bare name is none.
bool ProgramMayWrite(std::string_view path);

// The file that an address is mapped from, by the kernel's word: whole, with links followed, and
// with " (deleted)" where it is gone. The loader knows no more than the name that it was given,
// which may be relative. Empty where the address is in no file.
std::string MappedFile(const void* address);

// The distinct objects on the current call stack, nearest first, without plumbing; at most `limit`.
// By MappedFile; the program itself by the name that it was started by.
std::vector<std::string> CallingObjects(size_t limit);

// The functions on the current call stack as "file:symbol", nearest first, without plumbing; the
// symbol is empty inside functions that their object does not export. At most `limit`.
std::vector<std::string> CallingFunctions(size_t limit);

}  // namespace roofmark::meter
