// SPDX-License-Identifier: Apache-2.0
// Which profiles a person means by files, folders and manifests.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "trace/profile_format.h"
#include "trace/trace.h"

namespace roofmark::trace {
namespace {

Result<std::vector<fs::path>> SearchFolder(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && IsProfileName(entry->path().filename().string())) {
      found.push_back(entry->path());
    }
  }
  if (error) return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  std::ranges::sort(found);
  return found;
}

// The fields of one CSV line; quotes as in RFC 4180.
std::vector<std::string> CsvFields(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t at = 0; at < line.size(); ++at) {
    const char byte = line[at];
    if (quoted && byte == '"' && line.substr(at + 1).starts_with('"')) {
      fields.back() += '"';
      ++at;
    } else if (byte == '"') {
      quoted = !quoted;
    } else if (byte == ',' && !quoted) {
      fields.emplace_back();
    } else if (byte != '\r') {
      fields.back() += byte;
    }
  }
  return fields;
}

// Card time is kept in whole milliseconds, so that it adds up exactly.
Result<int64_t> CardMilliseconds(const std::string& text) {
  constexpr double kMsPerHour = 3.6e6;
  const double hours = TRY(ParseDouble(text));
  if (!(hours >= 0) || hours > 1e9) {
    return Fail(ErrorKind::kInput, fmt::format("card_hours '{}' is no amount of hours", text));
  }
  return static_cast<int64_t>(std::llround(hours * kMsPerHour));
}

struct Columns {
  size_t profile = SIZE_MAX;
  size_t application = SIZE_MAX;
  size_t card_hours = SIZE_MAX;
};

Result<Columns> ReadHeader(const std::vector<std::string>& names) {
  Columns columns;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "profile") columns.profile = i;
    if (names[i] == "application") columns.application = i;
    if (names[i] == "card_hours") columns.card_hours = i;
  }
  if (columns.profile == SIZE_MAX) {
    return Fail(ErrorKind::kInput, "the first line must name a column 'profile'");
  }
  return columns;
}

Result<ProfileInput> ReadLine(const std::vector<std::string>& fields, const Columns& columns,
                              const fs::path& folder) {
  const auto field = [&](size_t column) {
    return column < fields.size() ? fields[column] : std::string();
  };
  ProfileInput input;
  input.path = folder / field(columns.profile);
  if (field(columns.profile).empty()) return Fail(ErrorKind::kInput, "no profile in this line");
  if (!fs::is_regular_file(input.path)) {
    return Fail(ErrorKind::kNotFound, fmt::format("there is no file {}", input.path.string()));
  }
  input.options.application = field(columns.application);
  if (!field(columns.card_hours).empty()) {
    input.options.card_ms = TRY(CardMilliseconds(field(columns.card_hours)));
  }
  return input;
}

Result<std::vector<ProfileInput>> ReadManifest(const fs::path& path) {
  const std::string text = TRY(ReadFile(path));
  std::vector<ProfileInput> inputs;
  std::optional<Columns> columns;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    const std::string where = fmt::format("{}: line {}", path.string(), number);
    const std::vector<std::string> fields = CsvFields(line);
    if (!columns) {
      columns = TRY_IN(ReadHeader(fields), where);
    } else {
      inputs.push_back(TRY_IN(ReadLine(fields, *columns, path.parent_path()), where));
    }
  }
  return inputs;
}

}  // namespace

Result<std::vector<ProfileInput>> FindProfiles(const std::vector<fs::path>& paths) {
  std::vector<ProfileInput> inputs;
  std::set<fs::path> seen;
  const auto add = [&](ProfileInput input) {
    if (seen.insert(input.path.lexically_normal()).second) inputs.push_back(std::move(input));
  };
  for (const fs::path& path : paths) {
    if (fs::is_directory(path)) {
      for (const fs::path& found : TRY(SearchFolder(path))) {
        add({.path = found, .options = {}, .searched = true});
      }
    } else if (path.extension() == ".csv" && !IsRocprofCsv(path)) {
      for (ProfileInput& input : TRY(ReadManifest(path))) add(std::move(input));
    } else if (fs::exists(path)) {
      add({.path = path, .options = {}});
    } else {
      return Fail(ErrorKind::kNotFound, fmt::format("there is no profile {}", path.string()));
    }
  }
  return inputs;
}

}  // namespace roofmark::trace
