// SPDX-License-Identifier: Apache-2.0
#include "worker/python_files.h"

#include "worker/launcher.h"

namespace roofmark::worker {

// Defined from the files in worker/python at build time.
extern const std::string_view kRoofmarkMainPy;
extern const std::string_view kRoofmarkChannelPy;
extern const std::string_view kRoofmarkArenasPy;
extern const std::string_view kRoofmarkCpuPy;
extern const std::string_view kRoofmarkCudaPy;
extern const std::string_view kRoofmarkCandidatePy;
extern const std::string_view kRoofmarkReferencePy;
extern const std::string_view kRoofmarkCrashPy;
extern const std::string_view kInitPy;
extern const std::string_view kFp8Py;

namespace {

constexpr const char* kFolder = "/roofmark";

}  // namespace

void AddPythonFiles(std::vector<TreeEntry>* tree) {
  const auto add = [&](const char* name, std::string_view text) {
    tree->push_back({.step = TreeStep::kText,
                     .target = std::string(kFolder) + "/" + name,
                     .text = std::string(text)});
  };
  add("roofmark_main.py", kRoofmarkMainPy);
  add("roofmark_channel.py", kRoofmarkChannelPy);
  add("roofmark_arenas.py", kRoofmarkArenasPy);
  add("roofmark_cpu.py", kRoofmarkCpuPy);
  add("roofmark_cuda.py", kRoofmarkCudaPy);
  add("roofmark_candidate.py", kRoofmarkCandidatePy);
  add("roofmark_reference.py", kRoofmarkReferencePy);
  add("roofmark_crash.py", kRoofmarkCrashPy);
  add("roofmark_ref/__init__.py", kInitPy);
  add("roofmark_ref/fp8.py", kFp8Py);
}

std::vector<std::string> PythonCommand(const std::string& interpreter, std::string_view role,
                                       std::string_view device) {
  return {interpreter,
          "-s",
          "-B",
          std::string(kFolder) + "/roofmark_main.py",
          std::string(role),
          std::string(device),
          kSocketPlaceholder};
}

}  // namespace roofmark::worker
