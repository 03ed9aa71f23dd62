// SPDX-License-Identifier: Apache-2.0
// Everything that a sandboxed process is given, as data: its file tree, its limits and what it
// runs. The judge makes it (worker/file_tree.h, worker/worker.cc); the launcher, a fresh process of
// this binary without any of the judge's memory, carries it out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace roofmark::worker {

// One step in building the file tree, in order. Targets are absolute paths inside.
enum class TreeStep {
  kReadOnly,   // `source` outside appears at `target`, recursively, not writable
  kReadWrite,  // the same, writable
  kDevice,     // the same for a device node
  kCopy,       // a copy of `source`, readable by everybody, where its permissions are too narrow
  kText,       // a file with `text`
  kLink,       // a symbolic link to `text`
  kEmpty,      // a writable folder in memory, of at most `bytes`
  kHidden,     // whatever is there now disappears
};

struct TreeEntry {
  TreeStep step = TreeStep::kReadOnly;
  std::string source;
  std::string target;
  std::string text;
  uint64_t bytes = 0;
};

// The user and group "nobody" of Debian and Ubuntu; owns nothing.
inline constexpr uint32_t kNobody = 65534;

enum class Isolation {
  kUserNamespace,  // user, mount, pid, net, ipc and uts namespaces
  kNamespaces,     // the same without a user namespace; root only
  kNone,           // no namespace is permitted here: another user for root's processes, Landlock,
                   // limits and the system-call filter
};

struct SandboxSpec {
  Isolation isolation = Isolation::kUserNamespace;
  std::vector<TreeEntry> tree;
  std::string folder = "/scratch";       // working folder
  std::vector<std::string> argv;         // program to run; empty = this binary's native worker
  std::vector<std::string> environment;  // "NAME=value", complete
  std::string device = "cpu";            // for the native worker
  uint64_t data_bytes = 0;               // RLIMIT_DATA; 0 = no limit
  uint64_t file_bytes = 0;               // RLIMIT_FSIZE
  uint64_t processes = 0;                // RLIMIT_NPROC, and of the cgroup where there is one
  // Whether the sandbox's own loopback interface is up; no other interface ever is.
  bool loopback = false;
  // Who root's sandboxed processes become. Without namespaces each sandbox has its own, so that all
  // of its processes can be counted, and killed at once.
  uint32_t user = kNobody;
};

Json SandboxSpecToJson(const SandboxSpec& spec);
// Errors: kInput, which would be a bug of ours: only the judge writes these.
Result<SandboxSpec> SandboxSpecFromJson(const Json& json);

}  // namespace roofmark::worker
