// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "candidate/build.h"
#include "candidate/build_options.h"
#include "candidate/plan_nvrtc.h"
#include "candidate/source_files.h"

namespace roofmark::candidate {
namespace {

Result<std::vector<std::string>> IncludesOf(const Candidate& candidate, const fs::path& source_dir,
                                            const fs::path& include_dir, BuildPlan* plan) {
  std::vector<std::string> words = {"-I" + include_dir.string()};
  for (const fs::path& include : candidate.include_paths) {
    words.push_back("-I" + (source_dir / include).string());
  }
  for (const std::string& library : candidate.libraries) {
    for (const fs::path& folder : TRY(HeaderFolders(library))) {
      words.push_back("-I" + folder.string());
      plan->shown.push_back(folder);
    }
  }
  return words;
}

// Headers may be listed as sources, so that they are hashed and staged; they are not compiled. What
// is neither was refused when the candidate was read (source_files.h), and is never passed on.
void AddSources(const Candidate& candidate, const fs::path& source_dir,
                std::vector<std::string>* command) {
  for (const fs::path& source : candidate.sources) {
    const SourceKind kind = KindOfSource(source);
    if (kind != SourceKind::kHost && kind != SourceKind::kDevice) continue;
    command->push_back((source_dir / source).string());
  }
}

// "sm_90a" has what Hopper alone can do (wgmma, setmaxnreg), and runs on nothing else, as here; so
// with the later ones. Source: CUDA 13.0, "Architecture-Specific Features".
std::string WithFeatures(const std::string& arch) {
  const bool has = arch == "sm_90" || arch.starts_with("sm_10") || arch.starts_with("sm_12");
  return has && !arch.ends_with('a') ? arch + "a" : arch;
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
              "lane, or split the candidate into device and host code with compiler = \"nvrtc\"");
}

}  // namespace

Result<BuildPlan> PlanBuild(const Candidate& candidate, const fs::path& source_dir,
                            const fs::path& include_dir, const fs::path& out_dir,
                            const std::string& arch, const std::string& nvrtc) {
  if (!IsNative(candidate.lane)) return BuildPlan{};  // compiled in the worker, by its own compiler
  BuildPlan plan{.library = out_dir / "candidate.so"};
  const std::vector<std::string> includes =
      TRY(IncludesOf(candidate, source_dir, include_dir, &plan));
  if (candidate.compiler == "nvrtc") {
    if (nvrtc.empty()) {
      return Fail(ErrorKind::kNotFound, "compiler = \"nvrtc\": no NVRTC (libnvrtc.so) is here");
    }
    const NvrtcTools tools{.compiler = TRY(FindCompiler()), .nvrtc = nvrtc};
    BuildPlan made =
        TRY(PlanNvrtc(candidate, tools, source_dir, out_dir, WithFeatures(arch), includes));
    made.shown.insert(made.shown.end(), plan.shown.begin(), plan.shown.end());
    return made;
  }
  if (candidate.lane == Lane::kCpp) {
    plan.command = {TRY(FindCompiler()), "-std=c++20", "-O3",   "-march=native",
                    "-fopenmp",          "-shared",    "-fPIC", "-Wl,-z,defs"};
  } else {
    // --keep leaves each cubin in the folder: the judge hashes them, and the meter must see the
    // same bytes loaded, and find them in the library (gate/ghost.h). No cudart beyond the static
    // one, no vendor library by default.
    plan.device_code = out_dir / "cubins";
    plan.command = {"/bin/sh",
                    "-c",
                    "mkdir -p \"$0\" && exec \"$@\"",
                    plan.device_code.string(),
                    TRY(FindNvcc()),
                    "-std=c++20",
                    "-O3",
                    "-arch=" + WithFeatures(arch),
                    "-lineinfo",
                    "-no-compress",
                    "-shared",
                    "-Xcompiler",
                    "-fPIC",
                    "--keep",
                    "--keep-dir",
                    plan.device_code.string()};
  }
  plan.command.insert(plan.command.end(), includes.begin(), includes.end());
  plan.command.insert(plan.command.end(), candidate.options.begin(), candidate.options.end());
  AddSources(candidate, source_dir, &plan.command);
  plan.command.insert(plan.command.end(), {"-o", plan.library.string()});
  return plan;
}

}  // namespace roofmark::candidate
