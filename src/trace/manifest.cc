// SPDX-License-Identifier: Apache-2.0
// Rows to profiles. A manifest is written by hand, or exported from a spreadsheet or a scheduler,
// so whatever is odd in it is said with its line.
#include "trace/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/files.h"
#include "base/hash.h"
#include "base/text.h"

namespace roofmark::trace {
namespace {

constexpr std::array<std::string_view, 8> kColumns = {
    "glob", "application", "model", "framework", "device", "ranks", "card_hours", "config"};

// The fields of one CSV line; quotes as in RFC 4180.
Result<std::vector<std::string>> CsvFields(std::string_view line) {
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
  if (quoted) {
    return Fail(ErrorKind::kInput,
                "a quote is opened and never closed (a row must be one line; write \"\" for a "
                "quote inside quotes)");
  }
  for (std::string& field : fields) field = Trim(field);
  return fields;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, change}));
    }
  }
  return row[b.size()];
}

// Our name of a column; empty for one that means nothing here.
Result<std::string> ColumnName(std::string name) {
  std::ranges::transform(name, name.begin(), [](unsigned char byte) {
    return byte == '-' || byte == ' ' ? '_' : static_cast<char>(std::tolower(byte));
  });
  if (name == "profile" || name == "profiles") return "glob";
  for (const std::string_view known : kColumns) {
    if (name == known) return name;
    if (name.size() > 3 && EditDistance(name, known) <= 2) {
      return Fail(ErrorKind::kInput,
                  fmt::format("column '{}' looks like '{}'; spell it so, or call it something else "
                              "if it is another",
                              name, known));
    }
  }
  return "";
}

using Columns = std::map<std::string, size_t>;

Result<Columns> ReadHeader(std::string_view line) {
  if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);  // spreadsheets mark UTF-8 so
  if (line.starts_with("\xFF\xFE") || line.starts_with("\xFE\xFF")) {
    return Fail(ErrorKind::kInput, "the file is UTF-16; save it as CSV in UTF-8");
  }
  Columns columns;
  const std::vector<std::string> names = TRY(CsvFields(line));
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = TRY(ColumnName(names[i]));
    if (name.empty()) continue;
    if (!columns.emplace(name, i).second) {
      return Fail(ErrorKind::kInput, fmt::format("column '{}' is there twice", name));
    }
  }
  if (columns.contains("glob")) return columns;
  const bool semicolons = names.size() == 1 && line.find(';') != std::string_view::npos;
  return Fail(ErrorKind::kInput,
              semicolons ? "the columns are separated by semicolons; save the file with commas"
                         : "the first line must name a column 'glob' (or 'profile'); the others "
                           "are application, model, framework, device, ranks, card_hours, config");
}

// Card time is kept in whole milliseconds, so that it adds up exactly.
Result<int64_t> CardMilliseconds(const std::string& text) {
  constexpr double kMsPerHour = 3.6e6;
  const Result<double> hours = ParseDouble(text);
  if (!hours || !(*hours >= 0) || *hours > 1e9) {
    return Fail(ErrorKind::kInput,
                fmt::format("card_hours '{}' is no number of hours, like 310 or 12.5", text));
  }
  return static_cast<int64_t>(std::llround(*hours * kMsPerHour));
}

Result<ManifestRow> ReadRow(std::string_view line, const Columns& columns) {
  const std::vector<std::string> fields = TRY(CsvFields(line));
  const auto field = [&](std::string_view name) {
    const auto column = columns.find(std::string(name));
    return column == columns.end() || column->second >= fields.size() ? std::string()
                                                                      : fields[column->second];
  };
  ManifestRow row{.glob = field("glob"), .config = field("config"), .options = {}};
  if (row.glob.empty()) return Fail(ErrorKind::kInput, "no glob in this line: which profiles?");
  MineOptions& options = row.options;
  options.model = field("model");
  options.framework = field("framework");
  options.device = field("device");
  options.application = field("application");
  if (options.application.empty() && !options.model.empty()) {
    options.application = Join({options.model, options.framework, options.device}, " / ");
  }
  if (const std::string ranks = field("ranks"); !ranks.empty()) {
    const Result<int64_t> number = ParseInt(ranks);
    if (!number || *number < 1) {
      return Fail(ErrorKind::kInput,
                  fmt::format("ranks '{}' is no number of cards of a run, like 8", ranks));
    }
    options.ranks = *number;
  }
  if (const std::string hours = field("card_hours"); !hours.empty()) {
    options.card_ms = TRY(CardMilliseconds(hours));
  }
  std::string words;
  for (const std::string_view name : kColumns) words += fmt::format("{}\n", field(name));
  options.group = Sha256Hex(words).substr(0, 16);
  return row;
}

Result<std::vector<ProfileInput>> Expand(
    const ManifestRow& row, const fs::path& folder,
    const std::function<bool(const std::string&)>& is_profile) {
  std::vector<ProfileInput> inputs;
  const fs::path named = folder / row.glob;
  if (fs::is_regular_file(named)) {
    inputs.push_back({.path = named, .options = row.options});
    return inputs;
  }
  const bool is_folder = fs::is_directory(named);
  const bool is_pattern = row.glob.find_first_of("*?[") != std::string::npos;
  if (!is_folder && !is_pattern) {
    return Fail(
        ErrorKind::kNotFound,
        fmt::format("there is no file {} (paths are relative to the manifest)", named.string()));
  }
  for (const fs::path& found : MatchGlob(folder, is_folder ? row.glob + "/**" : row.glob)) {
    if (is_folder && !is_profile(found.filename().string())) continue;
    inputs.push_back({.path = found, .options = row.options, .searched = true});
  }
  if (!inputs.empty()) return inputs;
  return Fail(ErrorKind::kNotFound,
              fmt::format("'{}' matches no profile in {} (** matches folders at any depth)",
                          row.glob, fs::absolute(folder).lexically_normal().string()));
}

}  // namespace

Result<std::vector<ManifestRow>> ParseManifest(std::string_view text) {
  std::vector<ManifestRow> rows;
  std::optional<Columns> columns;
  size_t number = 0;
  for (const std::string_view line : Split(text, '\n')) {
    ++number;
    if (Trim(line).empty()) continue;
    const std::string where = fmt::format("line {}", number);
    if (!columns) {
      columns = TRY_IN(ReadHeader(line), where);
      continue;
    }
    rows.push_back(TRY_IN(ReadRow(line, *columns), where));
    rows.back().line = number;
  }
  if (!columns) return Fail(ErrorKind::kInput, "the manifest is empty");
  return rows;
}

Result<std::vector<ProfileInput>> ReadManifest(
    const fs::path& path, const std::function<bool(const std::string&)>& is_profile) {
  std::vector<ProfileInput> inputs;
  std::map<fs::path, size_t> line_of;
  const fs::path folder = path.parent_path();
  for (ManifestRow& row : TRY_IN(ParseManifest(TRY(ReadFile(path))), path.string())) {
    const std::string where = fmt::format("{}: line {}", path.string(), row.line);
    if (!row.config.empty()) {
      row.options.facts = TRY_IN(ReadModelConfig(folder / row.config), where);
    }
    for (ProfileInput& input : TRY_IN(Expand(row, folder, is_profile), where)) {
      const auto [first, fresh] = line_of.emplace(input.path.lexically_normal(), row.line);
      if (!fresh && first->second == row.line) continue;
      if (!fresh) {
        return Fail(ErrorKind::kInput,
                    fmt::format("{}: {} is in line {} already; a profile stands for one row", where,
                                input.path.string(), first->second));
      }
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

Result<std::map<std::string, int64_t, std::less<>>> ReadModelConfig(const fs::path& path) {
  const Json json = TRY(ReadJson(path));
  if (!json.is_object()) {
    return Fail(ErrorKind::kInput,
                fmt::format("{}: a model's config.json is an object", path.string()));
  }
  std::map<std::string, int64_t, std::less<>> facts;
  for (const Json* level : {&json, json.Find("text_config")}) {
    if (level == nullptr || !level->is_object()) continue;
    for (const auto& [name, value] : level->object()) {
      if (value.is_int() && value.as_int() >= 0) facts.emplace(name, value.as_int());
    }
  }
  const auto hidden = facts.find("hidden_size");
  const auto heads = facts.find("num_attention_heads");
  if (!facts.contains("head_dim") && hidden != facts.end() && heads != facts.end() &&
      heads->second > 0 && hidden->second % heads->second == 0) {
    facts.emplace("head_dim", hidden->second / heads->second);
  }
  const auto other_name = [&](std::string_view ours, std::string_view theirs) {
    const auto found = facts.find(theirs);
    if (!facts.contains(ours) && found != facts.end()) {
      facts.emplace(std::string(ours), found->second);
    }
  };
  other_name("num_experts_per_tok", "experts_per_token");
  const bool experts = facts.contains("num_local_experts") || facts.contains("num_experts");
  if (experts) other_name("moe_intermediate_size", "intermediate_size");
  return facts;
}

}  // namespace roofmark::trace
