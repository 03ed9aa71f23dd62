// SPDX-License-Identifier: Apache-2.0
#include "worker/native_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <exception>
#include <new>

namespace roofmark::worker {
namespace {

// The candidate is foreign code and may throw; nothing of it may unwind through the worker.
template <typename Call>
Result<int64_t> Guarded(const char* name, Call call) {
  try {
    return int64_t{call()};
  } catch (const std::bad_alloc&) {
    return Fail(ErrorKind::kDevice, fmt::format("{} ran out of memory (std::bad_alloc)", name));
  } catch (const std::exception& error) {
    return Fail(ErrorKind::kDevice, fmt::format("{} threw: {}", name, error.what()));
  } catch (...) {
    return Fail(ErrorKind::kDevice, fmt::format("{} threw something that is no exception", name));
  }
}

template <typename Function>
Function Symbol(void* handle, const char* name) {
  return reinterpret_cast<Function>(::dlsym(handle, name));
}

}  // namespace

void CloseLibrary(void* handle) {
  ::dlclose(handle);
}

Result<NativeLibrary> NativeLibrary::Open(const std::string& path, const std::string& entry) {
  NativeLibrary library;
  const Result<int64_t> opened = Guarded("loading", [&] {
    library.handle_.reset(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    return 0;
  });
  if (!opened) return std::unexpected(opened.error());
  void* const handle = library.handle_.get();
  if (handle == nullptr) return Fail(ErrorKind::kInput, fmt::format("dlopen: {}", ::dlerror()));
  library.run_ = Symbol<RunFunction>(handle, entry.c_str());
  if (library.run_ == nullptr) {
    return Fail(
        ErrorKind::kInput,
        fmt::format("exports no function '{}'; declare it extern \"C\" as in the operator's "
                    "header",
                    entry));
  }
  library.init_ = Symbol<InitFunction>(handle, "init");
  library.workspace_bytes_ = Symbol<WorkspaceFunction>(handle, "workspace_bytes");
  return library;
}

Result<void> NativeLibrary::Init(const void* args) const {
  if (init_ == nullptr) return {};
  const int64_t status = TRY(Guarded("init", [&] { return init_(args); }));
  if (status != 0) return Fail(ErrorKind::kDevice, fmt::format("init returned {}", status));
  return {};
}

Result<int64_t> NativeLibrary::WorkspaceBytes(const void* args) const {
  if (workspace_bytes_ == nullptr) return 0;
  const int64_t bytes = TRY(Guarded("workspace_bytes", [&] { return workspace_bytes_(args); }));
  if (bytes < 0) {
    return Fail(ErrorKind::kInput, fmt::format("workspace_bytes returned {}", bytes));
  }
  return bytes;
}

Result<void> NativeLibrary::Run(const void* args, void* workspace, void* stream) const {
  const int64_t status = TRY(Guarded("run", [&] { return run_(args, workspace, stream); }));
  if (status != 0) return Fail(ErrorKind::kDevice, fmt::format("run returned {}", status));
  return {};
}

}  // namespace roofmark::worker
