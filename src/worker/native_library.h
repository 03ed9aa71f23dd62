// SPDX-License-Identifier: Apache-2.0
// A native candidate's shared object and its three entry points.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/owned.h"
#include "base/result.h"

namespace roofmark::worker {

void CloseLibrary(void* handle);

class NativeLibrary {
 public:
  // Opens it with every symbol bound. Errors: kInput when it cannot be opened or lacks `entry`.
  static Result<NativeLibrary> Open(const std::string& path, const std::string& entry);

  // Each catches what the candidate throws. Errors: kDevice with what was thrown or returned.
  Result<void> Init(const void* args) const;
  Result<int64_t> WorkspaceBytes(const void* args) const;
  Result<void> Run(const void* args, void* workspace, void* stream) const;

 private:
  using InitFunction = int (*)(const void*);
  using WorkspaceFunction = int64_t (*)(const void*);
  using RunFunction = int (*)(const void*, void*, void*);

  NativeLibrary() = default;

  Owned<void, CloseLibrary> handle_;
  InitFunction init_ = nullptr;
  WorkspaceFunction workspace_bytes_ = nullptr;
  RunFunction run_ = nullptr;
};

}  // namespace roofmark::worker
