// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_libraries.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <system_error>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"

namespace roofmark::device {
namespace {

struct Description {
  std::string_view title;
  std::vector<std::string_view> names;   // newest first
  std::vector<std::string_view> wheels;  // below site-packages
  std::string_view package;
};

Description Describe(CudaLibrary library) {
  switch (library) {
    case CudaLibrary::kNvrtc:
      return {"NVRTC",
              {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"},
              {"nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib"},
              "cuda-nvrtc-13-0 (or pip's nvidia-cuda-nvrtc)"};
    case CudaLibrary::kCupti:
      return {"CUPTI",
              {"libcupti.so.13", "libcupti.so.12", "libcupti.so"},
              {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"},
              "cuda-cupti-13-0 (or pip's nvidia-cuda-cupti)"};
  }
  return {};
}

std::vector<fs::path> ToolkitFolders() {
  std::vector<fs::path> folders;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* root = std::getenv(variable);
    if (root == nullptr || *root == '\0') continue;
    folders.emplace_back(fs::path(root) / "lib64");
    folders.emplace_back(fs::path(root) / "extras/CUPTI/lib64");
    folders.emplace_back(fs::path(root) / "targets/x86_64-linux/lib");
  }
  const fs::path usual = "/usr/local/cuda";
  folders.insert(folders.end(),
                 {usual / "lib64", usual / "extras/CUPTI/lib64", usual / "targets/x86_64-linux/lib",
                  "/usr/lib/x86_64-linux-gnu", "/usr/lib64"});
  return folders;
}

// Empty when the interpreter is missing: then there are no wheels either.
std::vector<fs::path> WheelFolders(const std::vector<std::string_view>& below) {
  const auto asked =
      RunCommand({PythonPath(), "-c",
                  "import sysconfig, site; print('\\n'.join([sysconfig.get_paths()['purelib']] + "
                  "site.getsitepackages() + [site.getusersitepackages()]))"},
                 {.timeout_s = 20});
  std::vector<fs::path> folders;
  if (!asked || asked->exit_code != 0) return folders;
  for (const std::string_view line : Split(asked->out, '\n')) {
    if (Trim(line).empty()) continue;
    for (const std::string_view wheel : below) folders.emplace_back(fs::path(Trim(line)) / wheel);
  }
  return folders;
}

}  // namespace

fs::path FirstExisting(const std::vector<fs::path>& folders,
                       const std::vector<std::string_view>& names) {
  std::error_code ignored;
  for (const std::string_view name : names) {
    for (const fs::path& folder : folders) {
      if (fs::exists(folder / name, ignored)) return folder / name;
    }
  }
  return {};
}

Result<fs::path> FindCudaLibrary(CudaLibrary library) {
  const Description description = Describe(library);
  std::vector<fs::path> folders = ToolkitFolders();
  fs::path found = FirstExisting(folders, description.names);
  if (!found.empty()) return found;
  // Asking the interpreter costs tens of milliseconds, so it comes last.
  const std::vector<fs::path> wheels = WheelFolders(description.wheels);
  found = FirstExisting(wheels, description.names);
  if (!found.empty()) return found;
  folders.insert(folders.end(), wheels.begin(), wheels.end());
  std::string searched;
  for (const fs::path& folder : folders) {
    if (!searched.empty()) searched += ", ";
    searched += folder.string();
  }
  return Fail(
      ErrorKind::kNotFound,
      fmt::format("{} ({}) was not found in {}: install {} or set CUDA_HOME", description.title,
                  description.names.front(), searched, description.package));
}

Result<fs::path> FindMeter() {
  constexpr const char* kName = "libroofmark_meter.so";
  std::error_code error;
  if (const char* named = std::getenv("ROOFMARK_METER"); named != nullptr && *named != '\0') {
    if (fs::exists(named, error)) return fs::path(named);
    return Fail(ErrorKind::kNotFound,
                fmt::format("ROOFMARK_METER names {}, which is not there", named));
  }
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path found = FirstExisting({folder, folder.parent_path() / "lib"}, {kName});
  if (!found.empty()) return found;
  return Fail(ErrorKind::kNotFound,
              fmt::format("{} is neither in {} nor in {}: build it (./run build), or name it in "
                          "ROOFMARK_METER",
                          kName, folder.string(), (folder.parent_path() / "lib").string()));
}

}  // namespace roofmark::device
