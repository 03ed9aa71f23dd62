// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/owned.h"
#include "base/text.h"

namespace roofmark {
namespace {

std::unexpected<Error> SystemError(const fs::path& path, std::string_view doing) {
  const int code = errno;
  return Fail(code == ENOENT ? ErrorKind::kNotFound : ErrorKind::kIo,
              fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(code)));
}

Result<void> WriteAll(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path, "write");
    text.remove_prefix(static_cast<size_t>(n));
  }
  return {};
}

}  // namespace

Result<std::string> ReadFile(const fs::path& path, uint64_t max_bytes) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return SystemError(path, "open");
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) return SystemError(path, "stat");
  if (S_ISDIR(info.st_mode)) {
    return Fail(ErrorKind::kInput, path.string() + ": is a folder where a file is expected");
  }
  std::string text;
  while (true) {
    const size_t have = text.size();
    if (have > max_bytes) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{}: is larger than the {} that this reader takes", path.string(),
                              HumanBytes(static_cast<double>(max_bytes))));
    }
    text.resize(have + std::max<size_t>(65536, have));
    const ssize_t n = ::read(fd.get(), text.data() + have, text.size() - have);
    text.resize(have + static_cast<size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return text;
    if (n < 0 && errno != EINTR) return SystemError(path, "read");
  }
}

Result<void> WriteFile(const fs::path& path, std::string_view text) {
  std::error_code ignored;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  std::string temporary = path.string() + ".XXXXXX";
  Fd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) return SystemError(path, "create");
  const Result<void> written = WriteAll(fd.get(), text, path);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  ::fchmod(fd.get(), 0644);
  if (::rename(temporary.c_str(), path.c_str()) != 0) {
    const auto error = SystemError(path, "replace");
    ::unlink(temporary.c_str());
    return error;
  }
  return {};
}

Result<Json> ReadJson(const fs::path& path) {
  return TRY_IN(Json::Parse(TRY(ReadFile(path))), path.string());
}

Result<Json> ReadToml(const fs::path& path) {
  return TRY_IN(Json::ParseToml(TRY(ReadFile(path))), path.string());
}

Result<std::vector<Json>> ReadJsonLines(const fs::path& path) {
  const std::string text = TRY(ReadFile(path));
  std::vector<Json> rows;
  int line_number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++line_number;
    if (Trim(line).empty()) continue;
    rows.push_back(
        TRY_IN(Json::Parse(line), fmt::format("{}: line {}", path.string(), line_number)));
  }
  return rows;
}

Result<std::vector<fs::path>> ListFolder(const fs::path& path) {
  std::error_code error;
  std::vector<fs::path> entries;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(it->path());
  }
  if (error) {
    return Fail(
        error == std::errc::no_such_file_or_directory ? ErrorKind::kNotFound : ErrorKind::kIo,
        fmt::format("{}: cannot list: {}", path.string(), error.message()));
  }
  std::ranges::sort(entries);
  return entries;
}

Result<fs::path> DataDir() {
  if (const char* named = std::getenv("ROOFMARK_DATA")) {
    if (fs::exists(fs::path(named) / "operators")) return fs::path(named);
    return Fail(ErrorKind::kNotFound,
                fmt::format("ROOFMARK_DATA={} has no folder operators/; point it at Roofmark's "
                            "data folder or unset it",
                            named));
  }
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  for (fs::path dir = binary.parent_path(); dir.has_relative_path(); dir = dir.parent_path()) {
    for (const fs::path& place : {dir / "share/roofmark", dir}) {
      if (fs::exists(place / "operators") && fs::exists(place / "devices")) return place;
    }
  }
  return Fail(ErrorKind::kNotFound,
              "no operators/ folder near the binary; set ROOFMARK_DATA to Roofmark's data folder");
}

Result<std::vector<fs::path>> OperatorFolders() {
  std::vector<fs::path> folders = {TRY(DataDir()) / "operators"};
  const char* further = std::getenv("ROOFMARK_OPERATORS");
  for (const std::string_view named : Split(further != nullptr ? further : "", ':')) {
    if (named.empty()) continue;
    if (!fs::is_directory(named)) {
      return Fail(ErrorKind::kNotFound,
                  fmt::format("ROOFMARK_OPERATORS names {}, which is no folder; it must hold one "
                              "folder an operator",
                              named));
    }
    folders.push_back(fs::absolute(named).lexically_normal());
  }
  return folders;
}

std::string PythonPath() {
  if (const char* named = std::getenv("ROOFMARK_PYTHON")) return named;
  if (fs::exists("/usr/lib/python3/dist-packages/torch")) return "/usr/bin/python3";
  return "python3";
}

Result<TempDir> TempDir::Make(std::string_view prefix) {
  const char* base = std::getenv("TMPDIR");
  std::string path = fmt::format("{}/{}-XXXXXX", base != nullptr ? base : "/tmp", prefix);
  if (::mkdtemp(path.data()) == nullptr) return SystemError(path, "create a temporary folder");
  return TempDir(fs::path(path));
}

TempDir::~TempDir() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

}  // namespace roofmark
