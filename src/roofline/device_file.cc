// SPDX-License-Identifier: Apache-2.0
#include "roofline/device_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/check.h"
#include "base/files.h"

namespace roofmark::roofline {
namespace {

constexpr std::string_view kMemory = "memory";
constexpr std::string_view kLaunchFloor = "launch_floor";
constexpr std::array<std::string_view, 3> kVariants = {"pcie", "nvl", "mig"};

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The keys of a table of ceilings with the places that they fill.
std::vector<std::pair<std::string, double*>> Slots(Ceilings* ceilings) {
  std::vector<std::pair<std::string, double*>> slots;
  for (size_t i = 0; i < kEngineCount; ++i) {
    slots.emplace_back(EngineName(static_cast<Engine>(i)), &ceilings->ops_per_s[i]);
  }
  slots.emplace_back(kMemory, &ceilings->memory_bytes_per_s);
  slots.emplace_back(kLaunchFloor, &ceilings->launch_floor_s);
  return slots;
}

Result<Ceilings> ParseCeilings(const Json& table) {
  Ceilings ceilings{.present = true};
  const auto slots = Slots(&ceilings);
  std::vector<std::string> keys = {"note"};
  for (const auto& [key, unused] : slots) {
    keys.push_back(key);
    keys.push_back(key + "_source");
  }
  TRY(table.AllowKeys(std::vector<std::string_view>(keys.begin(), keys.end())));
  for (const auto& [key, slot] : slots) {
    if (table.Find(key) == nullptr) {
      if (table.Find(key + "_source") != nullptr) {
        return Fail(ErrorKind::kInput, fmt::format("{0}_source without {0}", key));
      }
      continue;
    }
    *slot = TRY(table.Double(key));
    if (!(*slot > 0) || !std::isfinite(*slot)) {
      return Fail(
          ErrorKind::kInput,
          fmt::format("{} = {} must be positive; leave out what a device has not", key, *slot));
    }
    const std::string source = TRY(table.String(key + "_source"));
    if (source.empty()) return Fail(ErrorKind::kInput, fmt::format("{}_source is empty", key));
    ceilings.sources[key] = source;
  }
  return ceilings;
}

std::string Quoted(const std::string& text) {
  return Json(text).Dump();  // a JSON string is a TOML basic string
}

void AppendCeilings(std::string_view title, Ceilings ceilings, const std::string& note,
                    std::string* text) {
  if (!ceilings.present) return;
  *text += fmt::format("\n[{}]\n", title);
  if (!note.empty()) *text += fmt::format("note = {}\n", Quoted(note));
  for (const auto& [key, slot] : Slots(&ceilings)) {
    if (*slot <= 0) continue;
    *text += fmt::format("{} = {}\n{}_source = {}\n", key, Json(*slot).Dump(), key,
                         Quoted(ceilings.sources[key]));
  }
}

std::vector<std::string> NamesOf(const DeviceCard& card) {
  std::vector<std::string> names = card.aliases;
  names.insert(names.begin(), card.name);
  return names;
}

bool IsWordByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// Whether `word` stands in `text` with no letter or digit on either side; both in lower case.
bool ContainsWord(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !IsWordByte(text[at - 1])) && (end == text.size() || !IsWordByte(text[end]))) {
      return true;
    }
  }
  return false;
}

bool SameVariant(std::string_view text, std::string_view name) {
  return std::ranges::all_of(kVariants, [&](std::string_view variant) {
    return ContainsWord(text, variant) == ContainsWord(name, variant);
  });
}

const DeviceCard* FindInside(std::span<const DeviceCard> cards, std::string_view text) {
  const std::string lower = Lower(text);
  const DeviceCard* found = nullptr;
  size_t longest = 0;
  for (const DeviceCard& card : cards) {
    for (const std::string& name : NamesOf(card)) {
      const std::string known = Lower(name);
      if (known.size() > longest && ContainsWord(lower, known) && SameVariant(lower, known)) {
        found = &card;
        longest = known.size();
      }
    }
  }
  return found;
}

}  // namespace

Result<DeviceCard> ParseDeviceCard(const Json& json) {
  if (!json.is_object()) return Fail(ErrorKind::kInput, "a device card must be a table");
  TRY(json.AllowKeys({"name", "aliases", "kind", "arch", "l2_bytes", "datasheet", "measured"}));
  DeviceCard card;
  card.name = TRY(json.String("name"));
  if (card.name.empty()) return Fail(ErrorKind::kInput, "name is empty");
  if (json.Find("aliases") != nullptr) {
    for (const Json& alias : TRY(json.ArrayAt("aliases"))->array()) {
      if (!alias.is_string()) return Fail(ErrorKind::kInput, "aliases must be strings");
      card.aliases.push_back(alias.as_string());
    }
  }
  card.kind = TRY(json.String("kind"));
  if (card.kind != "cuda" && card.kind != "rocm" && card.kind != "cpu") {
    return Fail(ErrorKind::kInput,
                fmt::format("kind = '{}' must be \"cuda\", \"rocm\" or \"cpu\"", card.kind));
  }
  card.arch = TRY(json.String("arch"));
  if (json.Find("l2_bytes") != nullptr) card.l2_bytes = TRY(json.Double("l2_bytes"));
  if (json.Find("datasheet") != nullptr) {
    card.datasheet = TRY_IN(ParseCeilings(*TRY(json.ObjectAt("datasheet"))), "[datasheet]");
  }
  if (json.Find("measured") != nullptr) {
    const Json& measured = *TRY(json.ObjectAt("measured"));
    card.measured = TRY_IN(ParseCeilings(measured), "[measured]");
    card.measured_note = TRY_IN(measured.String("note"), "[measured]");
  }
  if (!card.datasheet.present && !card.measured.present) {
    return Fail(ErrorKind::kInput, "neither [datasheet] nor [measured] is there");
  }
  return card;
}

Result<DeviceCard> ReadDeviceCard(const std::filesystem::path& path) {
  return TRY_IN(ParseDeviceCard(TRY(ReadToml(path))), path.string());
}

std::string DeviceCardText(const DeviceCard& card) {
  std::string text =
      fmt::format("name = {}\naliases = {}\nkind = {}\narch = {}\n", Quoted(card.name),
                  Json(Json::Array(card.aliases.begin(), card.aliases.end())).Dump(),
                  Quoted(card.kind), Quoted(card.arch));
  if (card.l2_bytes > 0) text += fmt::format("l2_bytes = {}\n", Json(card.l2_bytes).Dump());
  AppendCeilings("datasheet", card.datasheet, "", &text);
  AppendCeilings("measured", card.measured, card.measured_note, &text);
  return text;
}

Json DeviceCardToJson(const DeviceCard& card) {
  Result<Json> json = Json::ParseToml(DeviceCardText(card));
  CHECK(json.has_value());
  return std::move(*json);
}

Result<void> WriteDeviceCard(const std::filesystem::path& path, const DeviceCard& card) {
  return WriteFile(path, DeviceCardText(card));
}

Result<std::vector<DeviceCard>> ReadDevices(const std::filesystem::path& folder) {
  std::vector<DeviceCard> cards;
  for (const fs::path& path : TRY(ListFolder(folder))) {
    if (path.extension() != ".toml") continue;
    DeviceCard card = TRY(ReadDeviceCard(path));
    for (const std::string& name : NamesOf(card)) {
      if (const DeviceCard* other = FindDevice(cards, name)) {
        return Fail(ErrorKind::kInput, fmt::format("{}: '{}' already names the device {}",
                                                   path.string(), name, other->name));
      }
    }
    cards.push_back(std::move(card));
  }
  std::ranges::sort(cards, {}, &DeviceCard::name);
  return cards;
}

const DeviceCard* FindDevice(std::span<const DeviceCard> cards, std::string_view name) {
  for (const DeviceCard& card : cards) {
    for (const std::string& known : NamesOf(card)) {
      if (Lower(known) == Lower(name)) return &card;
    }
  }
  return nullptr;
}

bool IsCalled(const DeviceCard& card, std::string_view text) {
  const std::span<const DeviceCard> one(&card, 1);
  return FindDevice(one, text) != nullptr || FindInside(one, text) != nullptr;
}

Result<DeviceCard> FindDeviceCard(std::string_view name_or_path) {
  const fs::path path(name_or_path);
  if (path.extension() == ".toml") return ReadDeviceCard(path);
  const auto cards = TRY(ReadDevices(TRY(DataDir()) / "devices"));
  if (const DeviceCard* card = FindDevice(cards, name_or_path)) return *card;
  if (const DeviceCard* card = FindInside(cards, name_or_path)) return *card;
  std::vector<std::string_view> known;
  for (const DeviceCard& card : cards) known.push_back(card.name);
  return Fail(ErrorKind::kNotFound,
              fmt::format("there is no device card '{}' (known: {}); give the path of a card, or "
                          "make one with `roofmark calibrate`",
                          name_or_path, fmt::join(known, ", ")));
}

}  // namespace roofmark::roofline
