// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "candidate/build.h"

namespace roofmark::candidate {
namespace {

std::vector<std::string> InputsOf(const Candidate& candidate, const fs::path& source_dir,
                                  const fs::path& include_dir) {
  std::vector<std::string> words = {"-I" + include_dir.string()};
  for (const fs::path& include : candidate.include_paths) {
    words.push_back("-I" + (source_dir / include).string());
  }
  words.insert(words.end(), candidate.options.begin(), candidate.options.end());
  // Headers may be listed as sources, so that they are hashed and staged; they are not compiled.
  for (const fs::path& source : candidate.sources) {
    const std::string extension = source.extension().string();
    if (extension == ".h" || extension == ".hpp" || extension == ".cuh" || extension == ".inl") {
      continue;
    }
    words.push_back((source_dir / source).string());
  }
  return words;
}

// Workers see no compiler wrapper such as ccache, so the compiler's own name is asked for.
Result<std::string> FindCompiler() {
  for (const char* name : {"g++", "c++", "clang++"}) {
    if (FindProgram(name)) return std::string(name);
  }
  return Fail(ErrorKind::kNotFound,
              "no C++ compiler; install g++ (Debian, Ubuntu: apt-get install g++)");
}

Result<std::string> FindNvcc() {
  if (const auto found = FindProgram("nvcc")) return *found;
  for (const char* path : {"/usr/local/cuda/bin/nvcc", "/opt/cuda/bin/nvcc"}) {
    if (fs::exists(path)) return std::string(path);
  }
  return Fail(ErrorKind::kNotFound,
              "no nvcc; install the CUDA toolkit (or put its bin folder on PATH) to judge the cuda "
              "lane");
}

}  // namespace

Result<BuildPlan> PlanBuild(const Candidate& candidate, const fs::path& source_dir,
                            const fs::path& include_dir, const fs::path& out_dir,
                            const std::string& arch) {
  BuildPlan plan{.library = out_dir / "candidate.so"};
  switch (candidate.lane) {
    case Lane::kCpp:
      plan.command = {TRY(FindCompiler()), "-std=c++20", "-O3",   "-march=native",
                      "-fopenmp",          "-shared",    "-fPIC", "-Wl,-z,defs"};
      break;
    case Lane::kCuda:
      // --keep leaves each cubin in the folder: the judge hashes them, and the meter must see the
      // same bytes loaded. No cudart beyond the static one, no vendor library by default.
      plan.device_code = out_dir / "cubins";
      plan.command = {"/bin/sh",
                      "-c",
                      "mkdir -p \"$0\" && exec \"$@\"",
                      plan.device_code.string(),
                      TRY(FindNvcc()),
                      "-std=c++20",
                      "-O3",
                      "-arch=" + arch,
                      "-lineinfo",
                      "-shared",
                      "-Xcompiler",
                      "-fPIC",
                      "--keep",
                      "--keep-dir",
                      plan.device_code.string()};
      break;
    case Lane::kTriton:
    case Lane::kGluon:
    case Lane::kCuteDsl:
    case Lane::kTileLang:
    case Lane::kFlyDsl:
    case Lane::kTorch:
      return BuildPlan{};  // compiled in the worker, by its own compiler
  }
  for (std::string& word : InputsOf(candidate, source_dir, include_dir)) {
    plan.command.push_back(std::move(word));
  }
  plan.command.push_back("-o");
  plan.command.push_back(plan.library.string());
  return plan;
}

}  // namespace roofmark::candidate
