// SPDX-License-Identifier: Apache-2.0
#include "agent/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/check.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace roofmark::agent {
namespace {

std::unexpected<Error> SystemError(const fs::path& path, std::string_view doing) {
  return Fail(ErrorKind::kIo,
              fmt::format("{}: cannot {}: {}", path.string(), doing, std::strerror(errno)));
}

Result<void> CheckLine(const Json& event, size_t sequence, const std::string& previous) {
  if (!event.is_object()) return Fail(ErrorKind::kInput, "is not an object");
  if (TRY(event.Int("seq")) != static_cast<int64_t>(sequence) ||
      TRY(event.String("previous")) != previous) {
    return Fail(ErrorKind::kInput,
                "does not follow from the line before; the audit trail was changed. Start again in "
                "another folder, or put the file back as it was");
  }
  return {};
}

}  // namespace

Result<Journal> Journal::Open(const fs::path& path) {
  std::error_code ignored;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), ignored);
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return SystemError(path, "open");
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return Fail(ErrorKind::kInput,
                path.string() +
                    ": another process works on this campaign; wait for it, or choose "
                    "another folder");
  }
  Journal journal(path, std::move(fd));
  TRY_IN(journal.Load(TRY(ReadFile(path))), path.string());
  return journal;
}

Result<void> Journal::Load(const std::string& text) {
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  for (const std::string_view line : Split(std::string_view(text).substr(0, whole), '\n')) {
    if (line.empty()) continue;
    const std::string place = fmt::format("line {}", events_.size() + 1);
    Json event = TRY_IN(Json::Parse(line), place);
    TRY_IN(CheckLine(event, events_.size(), last_hash_), place);
    events_.push_back(std::move(event));
    last_hash_ = Sha256Hex(line);
  }
  // Only now, since a file that is refused is left as it is.
  if (whole < text.size() && ::ftruncate(fd_.get(), static_cast<off_t>(whole)) != 0) {
    return SystemError(path_, "cut the unfinished last line");
  }
  return {};
}

Result<void> Journal::Append(const Json& event) {
  CHECK(event.is_object());
  Json line = Json::MakeObject();
  line.Set("seq", static_cast<int64_t>(events_.size())).Set("previous", last_hash_);
  for (const auto& [key, value] : event.object()) line.Set(key, value);
  const std::string text = line.Dump();
  const std::string whole = text + "\n";
  for (std::string_view rest = whole; !rest.empty();) {
    const ssize_t n = ::write(fd_.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return SystemError(path_, "write");
    rest.remove_prefix(static_cast<size_t>(n));
  }
  if (::fdatasync(fd_.get()) != 0) return SystemError(path_, "sync");
  last_hash_ = Sha256Hex(text);
  events_.push_back(std::move(line));
  return {};
}

}  // namespace roofmark::agent
