// SPDX-License-Identifier: Apache-2.0
#include "worker/file_tree.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "candidate/vendor.h"

namespace roofmark::worker {
namespace {

using Tree = std::vector<TreeEntry>;

bool LiesIn(const fs::path& path, const fs::path& folder) {
  const auto [in_folder, in_path] = std::ranges::mismatch(folder, path);
  return in_folder == folder.end();
}

// Adds a path where it is, unless a folder above it is there already.
void Show(const fs::path& path, TreeStep step, Tree* tree) {
  std::error_code error;
  if (path.empty() || !path.is_absolute() || path == "/" || !fs::exists(path, error)) return;
  const bool covered = std::ranges::any_of(*tree, [&](const TreeEntry& entry) {
    return entry.step == TreeStep::kReadOnly && entry.source == entry.target &&
           LiesIn(path, entry.target);
  });
  if (!covered) tree->push_back({.step = step, .source = path.string(), .target = path.string()});
}

// /bin, /lib and their like are links into /usr or folders of their own, by distribution.
void AddSystem(Tree* tree) {
  Show("/usr", TreeStep::kReadOnly, tree);
  for (const char* path : {"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}) {
    std::error_code error;
    if (fs::is_symlink(path, error)) {
      tree->push_back({.step = TreeStep::kLink,
                       .target = path,
                       .text = fs::read_symlink(path, error).string()});
    } else {
      Show(path, TreeStep::kReadOnly, tree);
    }
  }
  for (const char* path : {"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
                           "/etc/alternatives", "/sys/devices/system"}) {
    Show(path, TreeStep::kReadOnly, tree);
  }
  const auto text = [&](const char* target, const char* content) {
    tree->push_back({.step = TreeStep::kText, .target = target, .text = content});
  };
  text("/etc/passwd", "nobody:x:65534:65534:nobody:/scratch:/bin/sh\n");
  text("/etc/group", "nogroup:x:65534:\n");
  text("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n");
  text("/etc/hosts", "127.0.0.1 localhost sandbox\n");
}

void AddDevices(uint64_t temporary_bytes, Tree* tree) {
  for (const char* path : {"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}) {
    Show(path, TreeStep::kDevice, tree);
  }
  const auto link = [&](const char* target, const char* to) {
    tree->push_back({.step = TreeStep::kLink, .target = target, .text = to});
  };
  link("/dev/fd", "/proc/self/fd");
  link("/dev/stdin", "/proc/self/fd/0");
  link("/dev/stdout", "/proc/self/fd/1");
  link("/dev/stderr", "/proc/self/fd/2");
  for (const char* path : {"/tmp", "/dev/shm"}) {
    tree->push_back({.step = TreeStep::kEmpty, .target = path, .bytes = temporary_bytes});
  }
}

// An interpreter needs its installation; a virtual environment needs also the one it was made from.
void AddPython(const std::string& interpreter, Tree* tree) {
  fs::path path = interpreter;
  if (!path.is_absolute()) {
    const auto found = FindProgram(interpreter);
    if (!found) return;
    path = *found;
  }
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  for (const fs::path& binary : {path, real}) {
    const fs::path prefix = binary.parent_path().parent_path();
    Show(prefix, TreeStep::kReadOnly, tree);
    const auto config = ReadFile(prefix / "pyvenv.cfg");
    if (!config) continue;
    for (const std::string_view line : Split(*config, '\n')) {
      const size_t equals = line.find('=');
      if (equals == std::string_view::npos || Trim(line.substr(0, equals)) != "home") continue;
      Show(fs::path(Trim(line.substr(equals + 1))).parent_path(), TreeStep::kReadOnly, tree);
    }
  }
}

void AddListed(const char* variable, Tree* tree) {
  const char* const value = std::getenv(variable);
  if (value == nullptr) return;
  for (const std::string_view folder : Split(value, ':')) Show(folder, TreeStep::kReadOnly, tree);
}

// The driver's nodes and libraries, and the toolkit with NVRTC, ptxas and headers.
void AddCuda(Tree* tree) {
  std::error_code error;
  for (fs::directory_iterator it("/dev", error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename().string().starts_with("nvidia")) {
      Show(it->path(), TreeStep::kDevice, tree);
    }
  }
  Show("/sys", TreeStep::kReadOnly, tree);
  Show("/usr/local/nvidia", TreeStep::kReadOnly, tree);
}

// Compilers that are not under /usr.
void AddToolkit(Tree* tree) {
  std::error_code error;
  if (const auto nvcc = FindProgram("nvcc")) {
    Show(fs::canonical(*nvcc, error).parent_path().parent_path(), TreeStep::kReadOnly, tree);
  }
  Show("/opt/cuda", TreeStep::kReadOnly, tree);
}

// Looks into library folders once per process.
const std::vector<std::string>& VendorPlaces() {
  static const std::vector<std::string> places = [] {
    std::vector<std::string> found;
    std::vector<fs::path> folders = {"/usr/lib/x86_64-linux-gnu", "/usr/local/lib"};
    if (const char* const listed = std::getenv("LD_LIBRARY_PATH")) {
      for (const std::string_view folder : Split(listed, ':')) {
        if (!folder.empty()) folders.emplace_back(folder);
      }
    }
    std::error_code error;
    for (const char* parent : {"/usr/local", "/opt"}) {
      for (fs::directory_iterator it(parent, error), end; !error && it != end;
           it.increment(error)) {
        if (!it->path().filename().string().starts_with("cuda") || it->is_symlink()) continue;
        folders.push_back(it->path() / "targets/x86_64-linux/lib");
        folders.push_back(it->path() / "lib64");
      }
    }
    for (const fs::path& folder : folders) {
      fs::recursive_directory_iterator it(folder, error);
      for (const fs::recursive_directory_iterator end; !error && it != end; it.increment(error)) {
        if (it.depth() >= 1) it.disable_recursion_pending();
        if (candidate::IsVendorLibrary(it->path().filename().string()) && !it->is_symlink()) {
          found.push_back(it->path().string());
        }
      }
    }
    // Packages of Python hold the same libraries and PyTorch; a native candidate needs none.
    for (const char* parent : {"/usr/lib", "/usr/local/lib"}) {
      for (fs::directory_iterator it(parent, error), end; !error && it != end;
           it.increment(error)) {
        if (it->path().filename().string().starts_with("python3")) {
          for (const char* name : {"dist-packages", "site-packages"}) {
            if (fs::exists(it->path() / name)) found.push_back((it->path() / name).string());
          }
        }
      }
    }
    return found;
  }();
  return places;
}

// Mounted folders keep their permissions; what nobody could not read is copied instead. Only root
// needs that: anybody else stays the owner of the files.
bool EverybodyMayRead(const fs::path& folder) {
  struct stat info{};
  if (::stat(folder.c_str(), &info) != 0 || (info.st_mode & 05) != 05) return false;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    const mode_t wanted = it->is_directory() ? 05 : 04;
    if (::stat(it->path().c_str(), &info) == 0 && (info.st_mode & wanted) != wanted) return false;
  }
  return true;
}

Result<void> AddFolder(const fs::path& folder, const char* target, TreeStep step, Tree* tree) {
  std::error_code error;
  const fs::path source = fs::canonical(folder, error);
  if (error) {
    return Fail(ErrorKind::kNotFound, fmt::format("{}: cannot lend it to a worker: {}",
                                                  folder.string(), error.message()));
  }
  if (step == TreeStep::kReadOnly && ::geteuid() == 0 && !EverybodyMayRead(source)) {
    step = TreeStep::kCopy;
  }
  tree->push_back({.step = step, .source = source.string(), .target = target});
  return {};
}

}  // namespace

Result<std::vector<TreeEntry>> PlanTree(const TreeRequest& request) {
  Tree tree;
  AddSystem(&tree);
  AddToolkit(&tree);
  AddDevices(request.temporary_bytes, &tree);
  if (!request.python.empty()) AddPython(request.python, &tree);
  if (request.device == DeviceKind::kCuda) AddCuda(&tree);
  AddListed("LD_LIBRARY_PATH", &tree);
  if (!request.python.empty()) AddListed("PYTHONPATH", &tree);
  for (const fs::path& path : request.shown) Show(path, TreeStep::kReadOnly, &tree);
  if (request.libraries == Libraries::kHidden) {
    for (const std::string& place : VendorPlaces()) {
      tree.push_back({.step = TreeStep::kHidden, .target = place});
    }
  }
  // Where Roofmark itself is installed under /usr, its operators and devices are not for workers.
  if (const auto data = DataDir()) {
    for (const char* part : {"devices", "rules", "suites"}) {
      tree.push_back({.step = TreeStep::kHidden, .target = (*data / part).string()});
    }
  }
  if (const auto folders = OperatorFolders()) {
    for (const fs::path& folder : *folders) {
      tree.push_back({.step = TreeStep::kHidden, .target = folder.string()});
    }
  }
  TRY(AddFolder(request.folder, "/candidate", TreeStep::kReadOnly, &tree));
  if (!request.include.empty()) {
    TRY(AddFolder(request.include, "/include", TreeStep::kReadOnly, &tree));
  }
  if (request.scratch.empty()) {
    tree.push_back(
        {.step = TreeStep::kEmpty, .target = "/scratch", .bytes = request.scratch_bytes});
  } else {
    TRY(AddFolder(request.scratch, "/scratch", TreeStep::kReadWrite, &tree));
  }
  return tree;
}

std::vector<std::string> BaseEnvironment() {
  std::vector<std::string> environment = {
      "HOME=/scratch",
      "TMPDIR=/tmp",
      "USER=nobody",
      "LOGNAME=nobody",
      "LANG=C.UTF-8",
      "XDG_CACHE_HOME=/scratch/.cache",
      "TRITON_CACHE_DIR=/scratch/.triton",
      "TORCHINDUCTOR_CACHE_DIR=/scratch/.inductor",
      "TORCH_EXTENSIONS_DIR=/scratch/.torch_extensions",
      "CUDA_CACHE_PATH=/scratch/.nv",
      "PYTHONDONTWRITEBYTECODE=1",
      "PYTHONNOUSERSITE=1",
  };
  std::string path = "/usr/local/bin:/usr/bin:/bin";
  if (const auto nvcc = FindProgram("nvcc"))
    path = fs::path(*nvcc).parent_path().string() + ":" + path;
  environment.push_back("PATH=" + path);
  for (const char* name : {"LD_LIBRARY_PATH", "PYTHONPATH", "CUDA_HOME", "CUDA_PATH",
                           "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}) {
    if (const char* value = std::getenv(name))
      environment.push_back(fmt::format("{}={}", name, value));
  }
  return environment;
}

}  // namespace roofmark::worker
