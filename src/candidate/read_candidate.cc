// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"
#include "candidate/build.h"
#include "candidate/build_options.h"
#include "candidate/source_files.h"

namespace roofmark::candidate {
namespace {

constexpr uint64_t kMaxSourceBytes = uint64_t{16} << 20;

// True when some line imports the module or one inside of it: "import triton", "from triton import
// x", "import triton.language as tl"; and for "a.b" also "from a import b". Comments and strings
// elsewhere do not count.
bool Imports(std::string_view text, std::string_view module) {
  const size_t dot = module.rfind('.');
  const std::string from =
      dot == std::string_view::npos
          ? ""
          : fmt::format("{} import {}", module.substr(0, dot), module.substr(dot + 1));
  return std::ranges::any_of(Split(text, '\n'), [&](std::string_view line) {
    line = Trim(line);
    for (const std::string_view start : {"import ", "from "}) {
      if (!line.starts_with(start)) continue;
      const std::string_view rest = Trim(line.substr(start.size()));
      for (const std::string_view name : {module, std::string_view(from)}) {
        if (name.empty() || !rest.starts_with(name)) continue;
        if (rest.size() == name.size() || std::strchr(". ,;#", rest[name.size()]) != nullptr) {
          return true;
        }
      }
    }
    return false;
  });
}

// A language inside of another comes first: files in Gluon import Triton as well.
Lane LaneOfImports(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, Lane>, 6> kModules = {{
      {"triton.experimental.gluon", Lane::kGluon},
      {"cutlass.cute", Lane::kCuteDsl},
      {"tilelang", Lane::kTileLang},
      {"flydsl", Lane::kFlyDsl},
      {"triton", Lane::kTriton},
      {"cutlass", Lane::kCuteDsl},
  }};
  for (const auto& [module, lane] : kModules) {
    if (Imports(text, module)) return lane;
  }
  return Lane::kTorch;
}

Result<Lane> LaneOf(const fs::path& path, std::string_view text) {
  const std::string extension = path.extension().string();
  if (extension == ".cu") return Lane::kCuda;
  if (extension == ".cc" || extension == ".cpp" || extension == ".cxx") return Lane::kCpp;
  if (extension == ".py") return LaneOfImports(text);
  return Fail(ErrorKind::kInput,
              fmt::format("{}: no lane has files '*{}'; candidates are .cc and .cpp (C++), .cu "
                          "(CUDA C++) or .py (Triton, Gluon, CuTe DSL, TileLang, FlyDSL, PyTorch), "
                          "or a folder with candidate.toml",
                          path.string(), extension));
}

Result<Role> ParseRole(std::string_view name) {
  if (name == "candidate") return Role::kCandidate;
  if (name == "baseline") return Role::kBaseline;
  return Fail(ErrorKind::kInput, fmt::format("role '{}' is not candidate or baseline", name));
}

// A line ROLE = "baseline" in a Python file.
Role RoleInSource(std::string_view text) {
  for (std::string_view line : Split(text, '\n')) {
    if (!line.starts_with("ROLE")) continue;
    const std::string_view rest = Trim(line.substr(4));
    if (!rest.starts_with('=')) continue;
    const std::string_view value = Trim(rest.substr(1));
    if (value == "\"baseline\"" || value == "'baseline'") return Role::kBaseline;
  }
  return Role::kCandidate;
}

// True when the path itself, with links followed, lies in the folder. What a link points to would
// be read by the judge, who may see more than the candidate's author.
bool LiesInside(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return false;
  const fs::path real = fs::canonical(path, error);
  return !error && std::ranges::mismatch(root, real).in1 == root.end();
}

std::unexpected<Error> Leaves(std::string_view name) {
  return Fail(ErrorKind::kInput, fmt::format("'{}' leaves the candidate's folder", name));
}

// Names come from outside and end up as paths under our folders.
Result<fs::path> InsideFolder(const fs::path& folder, const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  if (name.empty() || path.is_absolute() || *path.begin() == "..") {
    return Leaves(name);
  }
  if (!fs::exists(folder / path)) {
    return Fail(ErrorKind::kNotFound, fmt::format("{} does not exist", (folder / path).string()));
  }
  if (!LiesInside(folder, folder / path)) return Leaves(name);
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder / path, error), end; !error && it != end;
       it.increment(error)) {
    if (it->is_symlink() && !LiesInside(folder, it->path())) {
      return Leaves(it->path().lexically_relative(folder).string());
    }
  }
  return path;
}

Result<std::vector<std::string>> Texts(const Json& json, std::string_view key) {
  std::vector<std::string> texts;
  if (json.Find(key) == nullptr) return texts;
  for (const Json& text : TRY(json.ArrayAt(key))->array()) {
    if (!text.is_string()) {
      return Fail(ErrorKind::kInput, fmt::format("'{}' must be a list of strings", key));
    }
    texts.push_back(text.as_string());
  }
  return texts;
}

// Over names and bytes, sources first, then everything in the include folders.
Result<std::string> HashOf(const Candidate& candidate) {
  std::vector<fs::path> files = candidate.sources;
  for (const fs::path& include : candidate.include_paths) {
    std::error_code error;
    for (fs::recursive_directory_iterator it(candidate.folder / include, error), end;
         !error && it != end; it.increment(error)) {
      if (it->is_regular_file()) files.push_back(it->path().lexically_relative(candidate.folder));
    }
  }
  std::ranges::sort(files);
  std::string all;
  for (const fs::path& file : files) {
    all += fmt::format("{}\n{}\n", file.string(),
                       Sha256Hex(TRY(ReadFile(candidate.folder / file, kMaxSourceBytes))));
  }
  for (const std::string& option : candidate.options) all += option + "\n";
  for (const std::string& library : candidate.libraries) all += "library " + library + "\n";
  if (candidate.compiler == "nvrtc") all += "nvrtc\n";
  return Sha256Hex(all);
}

Result<void> CheckKeys(const Json& manifest) {
  constexpr std::array kKnown = {"name",          "lane",     "sources", "entry",
                                 "role",          "options",  "include", "mode",
                                 "deterministic", "compiler", "binding", "operator"};
  for (const auto& [key, value] : manifest.object()) {
    if (std::ranges::find(kKnown, key) == kKnown.end()) {
      return Fail(ErrorKind::kInput,
                  fmt::format("unknown key '{}'; known are {}", key, fmt::join(kKnown, ", ")));
    }
  }
  return {};
}

// `binding` says how the judge calls it, which follows from the lane; a candidate made for another
// binding learns it here and not from a crash.
Result<void> CheckBinding(const std::string& binding, Lane lane) {
  if (binding == "tvm-ffi") {
    return Fail(ErrorKind::kInput,
                "binding = \"tvm-ffi\" is not supported; export plain C functions "
                "(roofmark/<operator>.h), or load the module in a Python file that defines run()");
  }
  if (binding != "c" && binding != "python" && binding != "pytorch") {
    return Fail(ErrorKind::kInput,
                fmt::format("binding '{}' is not c, python or pytorch", binding));
  }
  if ((binding == "c") != IsNative(lane)) {
    return Fail(ErrorKind::kInput,
                fmt::format("binding = \"{}\" does not fit lane {}: native lanes are called by "
                            "plain C, Python files by name (a PyTorch extension is built by "
                            "load_inline in a Python file)",
                            binding, LaneName(lane)));
  }
  return {};
}

Result<void> CheckBuild(const Json& manifest, Candidate* candidate) {
  if (manifest.Find("binding") != nullptr) {
    TRY(CheckBinding(TRY(manifest.String("binding")), candidate->lane));
  }
  if (manifest.Find("compiler") == nullptr) return {};
  candidate->compiler = TRY(manifest.String("compiler"));
  if (candidate->lane != Lane::kCuda) {
    return Fail(ErrorKind::kInput, fmt::format("compiler is chosen in lane cuda alone, not in {}",
                                               LaneName(candidate->lane)));
  }
  if (candidate->compiler != "nvcc" && candidate->compiler != "nvrtc") {
    return Fail(ErrorKind::kInput,
                fmt::format("compiler '{}' is not nvcc or nvrtc", candidate->compiler));
  }
  return {};
}

Result<Candidate> FromManifest(const fs::path& folder, const Json& manifest) {
  TRY(CheckKeys(manifest));
  Candidate candidate{.name = folder.filename().string(), .folder = folder};
  if (manifest.Find("name") != nullptr) candidate.name = TRY(manifest.String("name"));
  for (const std::string& name : TRY(Texts(manifest, "sources"))) {
    candidate.sources.push_back(TRY(InsideFolder(folder, name)));
  }
  if (manifest.Find("entry") != nullptr) {
    const std::string entry = TRY(manifest.String("entry"));
    const size_t colons = entry.find("::");
    if (colons != std::string::npos) {
      // The file that holds the entry comes first.
      const fs::path file = TRY(InsideFolder(folder, entry.substr(0, colons)));
      std::erase(candidate.sources, file);
      candidate.sources.insert(candidate.sources.begin(), file);
      candidate.entry = entry.substr(colons + 2);
    } else {
      candidate.entry = entry;
    }
  }
  if (candidate.sources.empty()) {
    return Fail(ErrorKind::kInput,
                "name the files in sources = [..] or entry = \"file::function\"");
  }
  candidate.options = TRY(Texts(manifest, "options"));
  TRY(CheckOptions(candidate.options));
  for (const std::string& name : TRY(Texts(manifest, "include"))) {
    // A folder of the candidate's own comes first: it may bring its own CUTLASS.
    if (IsHeaderLibrary(name) && !fs::exists(folder / name)) {
      candidate.libraries.push_back(name);
    } else {
      candidate.include_paths.push_back(TRY(InsideFolder(folder, name)));
    }
  }
  const std::string text = TRY(ReadFile(folder / candidate.sources[0], kMaxSourceBytes));
  candidate.lane = manifest.Find("lane") != nullptr ? TRY(ParseLane(TRY(manifest.String("lane"))))
                                                    : TRY(LaneOf(candidate.sources[0], text));
  candidate.role = manifest.Find("role") != nullptr ? TRY(ParseRole(TRY(manifest.String("role"))))
                                                    : RoleInSource(text);
  if (manifest.Find("mode") != nullptr) {
    candidate.mode = TRY(ParseMode(TRY(manifest.String("mode"))));
  }
  if (manifest.Find("deterministic") != nullptr) {
    candidate.deterministic = TRY(manifest.Bool("deterministic"));
  }
  TRY(CheckBuild(manifest, &candidate));
  if (IsNative(candidate.lane)) TRY(CheckSources(candidate));
  candidate.content_hash = TRY(HashOf(candidate));
  return candidate;
}

}  // namespace

Result<Candidate> ReadCandidate(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error) {
    return Fail(ErrorKind::kNotFound, fmt::format("{}: {}", path.string(), error.message()));
  }
  if (fs::is_directory(real)) {
    const fs::path manifest = real / "candidate.toml";
    if (!fs::exists(manifest)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{} has no candidate.toml; add one with sources = [..], or name a "
                              "single file",
                              real.string()));
    }
    return TRY_IN(FromManifest(real, TRY(ReadToml(manifest))), manifest.string());
  }
  const std::string text = TRY(ReadFile(real, kMaxSourceBytes));
  Candidate candidate{.name = real.stem().string(),
                      .lane = TRY(LaneOf(real, text)),
                      .folder = real.parent_path(),
                      .sources = {real.filename()}};
  if (real.extension() == ".py") candidate.role = RoleInSource(text);
  candidate.content_hash = TRY(HashOf(candidate));
  return candidate;
}

Result<std::string> ContentHashOf(const Candidate& candidate) {
  return HashOf(candidate);
}

}  // namespace roofmark::candidate
