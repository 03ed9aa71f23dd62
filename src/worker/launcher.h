// SPDX-License-Identifier: Apache-2.0
// The first thing of this binary that runs in a sandboxed process. The judge never forks itself
// into a worker: it starts this binary again as `roofmark worker`, so that none of its memory,
// threads and descriptors are there to be found. The launcher reads what it shall be from its
// socket, builds the sandbox around itself, and only then runs something untrusted.
#pragma once

#include <optional>

namespace roofmark::worker {

// Descriptors that the judge leaves open for the launcher.
inline constexpr int kLauncherSocket = 3;
inline constexpr int kLauncherLeash = 4;  // closes when the judge lets go: then everything dies

// In an argument of SandboxSpec::argv: the number of the socket's descriptor.
inline constexpr const char* kSocketPlaceholder = "{socket}";

// Every main() that may start workers calls this first. When this process is `roofmark worker`,
// runs it and returns its exit code; otherwise nothing, at once.
std::optional<int> MaybeRunWorker(int argc, char** argv);

}  // namespace roofmark::worker
