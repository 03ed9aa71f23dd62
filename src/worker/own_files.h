// SPDX-License-Identifier: Apache-2.0
// Which file on disk a worker was told to load, and what the kernel calls it. A path is what a
// process likes to show; device and inode are not, so whose code runs is told by these.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace roofmark::worker {

// A file as memory maps name it: "08:01 1234", device and inode (proc_pid_maps(5)).
using FileIdentity = std::string;

// Of a line of a memory map; empty where no file is mapped there.
FileIdentity IdentityIn(std::string_view maps_line);

// The worker `pid` was told to load `path`, as it sees it itself; until it is forgotten.
void NoteOwnFile(pid_t pid, std::string path);
void ForgetOwnFile(pid_t pid);

// What maps call the file that the worker was told to load, or where nothing was noted, what lies
// at `otherwise` in its view. Found by mapping that file here, since on layered file systems
// stat(2) and maps disagree. Empty where it cannot be opened.
FileIdentity OwnFileOf(pid_t pid, const std::string& otherwise);

}  // namespace roofmark::worker
