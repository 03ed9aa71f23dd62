// SPDX-License-Identifier: Apache-2.0
// What the kernel calls a file on disk. A path is what a process likes to show; device and inode
// are not, so whose code runs is told by these.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/memory_maps.h"

namespace roofmark::worker {

// A file as memory maps name it: "08:01 1234", device and inode (proc_pid_maps(5)).
using FileIdentity = std::string;

// Of a mapped range; empty where no file is mapped there.
FileIdentity IdentityIn(const MappedRange& range);

// What maps call the file at this path, as the process sees it. Found by mapping that file here,
// since on layered file systems stat(2) and maps disagree. Empty where it cannot be opened.
FileIdentity IdentityOf(pid_t pid, const std::string& path);

}  // namespace roofmark::worker
