// SPDX-License-Identifier: Apache-2.0
#include "exchange/write_operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "candidate/build.h"
#include "suite/card.h"
#include "suite/expression.h"
#include "suite/make_workload.h"

namespace roofmark::exchange {
namespace {

constexpr const char* kReference =
    "# SPDX-License-Identifier: Apache-2.0\n"
    "\"\"\"Written by `roofmark suite import`: calls the original files in origin/.\"\"\"\n"
    "\n"
    "import os\n"
    "\n"
    "from roofmark_ref import imported\n"
    "\n"
    "inputs, reference = imported.load(os.path.dirname(os.path.abspath(__file__)))\n";

// A TOML basic string; its escapes are those of JSON. Line ends and control characters, which only
// descriptions have, become blanks.
std::string Quoted(std::string_view text) {
  std::string line = ValidUtf8(text);
  std::ranges::replace_if(line, [](char c) { return (c >= 0 && c < 0x20) || c == 0x7f; }, ' ');
  return Json(std::string(Trim(line))).Dump();
}

Result<std::string> Name(const Json& json) {
  if (!json.is_string() || !suite::IsUsableName(json.as_string())) {
    return Fail(ErrorKind::kInput, fmt::format("{} cannot be a name in a card", json.Dump()));
  }
  return json.as_string();
}

Result<void> AddTensors(const Json& card, std::string_view key, std::string* toml) {
  for (const Json& tensor : TRY(card.ArrayAt(key))->array()) {
    std::vector<std::string> sizes;
    for (const Json& size : TRY(tensor.ArrayAt("sizes"))->array()) {
      sizes.push_back(size.is_int() ? size.Dump() : Quoted(TRY(Name(size))));
    }
    *toml += fmt::format("\n[[{}]]\nname = {}\ndtype = {}\nshape = [{}]\n", key,
                         Quoted(TRY(tensor.String("name"))), Quoted(TRY(tensor.String("dtype"))),
                         fmt::join(sizes, ", "));
  }
  return {};
}

Result<void> AddTolerances(const Json& card, std::string* toml) {
  for (const auto& [output, bounds] : TRY(card.ObjectAt("tolerance"))->object()) {
    *toml += fmt::format("\n[tolerance.{}]\n", TRY(Name(Json(output))));
    *toml += fmt::format("kind = {}\n", Quoted(TRY(bounds.String("kind"))));
    for (const char* key : {"rtol", "atol_rms", "rel_l2"}) {
      if (bounds.Find(key) == nullptr) continue;
      *toml += fmt::format("{} = {}\n", key, Json(TRY(bounds.Double(key))).Dump());
    }
  }
  return {};
}

Result<std::string> ShapeLines(const Json& described) {
  std::string lines;
  for (const Json& shape : TRY(described.ArrayAt("shapes"))->array()) {
    Json line = Json::MakeObject();
    line.Set("id", TRY(shape.String("id"))).Set("tier", "imported").Set("phase", "unknown");
    line.Set("axes", *TRY(shape.ObjectAt("axes")));
    for (const char* key : {"construct", "published"}) {
      if (const Json* part = shape.Find(key)) line.Set(key, *part);
    }
    lines += line.Dump() + "\n";
  }
  return lines;
}

Result<void> CopyOrigin(const Json& described, const fs::path& root, const fs::path& folder) {
  for (const Json& pair : TRY(described.ArrayAt("copy"))->array()) {
    const bool two = pair.is_array() && pair.array().size() == 2 && pair.array()[0].is_string() &&
                     pair.array()[1].is_string();
    if (!two) return Fail(ErrorKind::kInput, "a file to copy is not [from, to]");
    const fs::path from = TRY(Inside(root, pair.array()[0].as_string()));
    const fs::path to = TRY(Inside(folder / "origin", pair.array()[1].as_string()));
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (error || !fs::copy_file(from, to, fs::copy_options::overwrite_existing, error)) {
      return Fail(ErrorKind::kIo, fmt::format("{}: {}", to.string(), error.message()));
    }
  }
  return {};
}

// Replaces only what an import wrote before.
Result<void> MakeFresh(const fs::path& folder, const char* mark) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::exists(folder / mark, error)) {
      return Fail(ErrorKind::kInput,
                  fmt::format("{} is there and was not imported; choose another folder with -o",
                              folder.string()));
    }
    fs::remove_all(folder, error);
  }
  fs::create_directories(folder, error);
  if (error) return Fail(ErrorKind::kIo, fmt::format("{}: {}", folder.string(), error.message()));
  return {};
}

Result<void> ReadBack(const fs::path& folder) {
  const Operator op = TRY(suite::ReadOperator(folder));
  for (const Shape& shape : op.shapes) TRY(suite::MakeWorkload(op, shape));
  return {};
}

Result<void> WriteParts(const Json& described, const std::string& name, const fs::path& root,
                        const fs::path& folder) {
  Json card = *TRY(described.ObjectAt("card"));
  card.Set("name", name);
  TRY(WriteFile(folder / "operator.toml", TRY(CardToml(card))));
  TRY(WriteFile(folder / "shapes.jsonl", TRY(ShapeLines(described))));
  TRY(WriteFile(folder / "reference.py", kReference));
  TRY(CopyOrigin(described, root, folder));
  return ReadBack(folder);
}

}  // namespace

Result<fs::path> Inside(const fs::path& folder, const std::string& path) {
  const fs::path plain = fs::path(path).lexically_normal();
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder / plain, error);
  const fs::path base = fs::weakly_canonical(folder, error);
  const auto [in_base, in_whole] = std::ranges::mismatch(base, whole);
  if (path.empty() || plain.is_absolute() || *plain.begin() == ".." || plain == "." ||
      in_base != base.end()) {
    return Fail(ErrorKind::kInput, fmt::format("'{}' leaves the folder {}", path, folder.string()));
  }
  return whole;
}

Result<std::string> CardToml(const Json& card) {
  std::string toml =
      fmt::format("# Written by `roofmark suite import`.\nname = {}\nsummary = {}\nsource = {}\n",
                  Quoted(TRY(card.String("name"))), Quoted(TRY(card.String("summary"))),
                  Quoted(TRY(card.String("source"))));
  if (card.Find("weight_published") != nullptr) {
    toml +=
        fmt::format("weight_published = {}\n", Json(TRY(card.Double("weight_published"))).Dump());
  }
  toml += "\n[axes]\n";
  for (const Json& axis : TRY(card.ArrayAt("axes"))->array()) {
    toml += fmt::format("{} = \"int\"\n", TRY(Name(axis)));
  }
  toml += "\n[attributes]\n";
  for (const auto& [name, value] : TRY(card.ObjectAt("attributes"))->object()) {
    if (!value.is_number()) return Fail(ErrorKind::kInput, name + " is no number");
    toml += fmt::format("{} = {}\n", TRY(Name(Json(name))), value.Dump());
  }
  TRY(AddTensors(card, "inputs", &toml));
  TRY(AddTensors(card, "outputs", &toml));
  const Json& traffic = *TRY(card.ObjectAt("traffic"));
  toml += fmt::format(
      "\n# No [[work]]: what the arithmetic must be is not in the import.\n[traffic]\nread = {}\n"
      "write = {}\nsource = {}\n",
      Quoted(TRY(traffic.String("read"))), Quoted(TRY(traffic.String("write"))),
      Quoted(TRY(traffic.String("source"))));
  TRY(AddTolerances(card, &toml));
  return toml;
}

Result<void> WriteOperator(const Json& described, const std::string& name, const fs::path& root,
                           const fs::path& operators) {
  TRY(Name(Json(name)));
  const fs::path folder = operators / name;
  TRY(MakeFresh(folder, "import.json"));
  // First, so that a folder that could not be finished is known as ours.
  TRY(WriteFile(folder / "import.json", TRY(described.ObjectAt("about"))->Dump(1) + "\n"));
  Result<void> written = WriteParts(described, name, root, folder);
  std::error_code error;
  if (!written) fs::remove_all(folder, error);
  return written;
}

Result<void> WriteCandidate(const CandidateFiles& candidate, const fs::path& folder) {
  TRY(MakeFresh(folder, "candidate.toml"));
  std::vector<std::string> sources;
  std::string manifest =
      fmt::format("name = {}\nlane = {}\nrole = {}\nentry = {}\n", Quoted(candidate.name),
                  Quoted(candidate.lane), Quoted(candidate.role), Quoted(candidate.entry));
  for (const Json& file : candidate.files.array()) {
    const std::string path = TRY(file.String("path"));
    const fs::path target = TRY(Inside(folder, path));
    std::error_code error;
    fs::create_directories(target.parent_path(), error);
    TRY(WriteFile(target, TRY(file.String("content"))));
    sources.push_back(Quoted(path));
  }
  manifest += fmt::format("sources = [{}]\n", fmt::join(sources, ", "));
  TRY(WriteFile(folder / "candidate.toml", manifest));
  TRY(candidate::ReadCandidate(folder));
  return {};
}

}  // namespace roofmark::exchange
