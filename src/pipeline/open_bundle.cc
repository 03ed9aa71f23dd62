// SPDX-License-Identifier: Apache-2.0
#include "pipeline/open_bundle.h"

#include <fmt/format.h>

#include "base/files.h"
#include "pipeline/pack.h"
#include "suite/card.h"

namespace roofmark::pipeline {
namespace {

// The reduced card with the least that a card needs besides.
Json WholeCard(Json card) {
  Json traffic = Json::MakeObject();
  traffic.Set("read", "0").Set("write", "0").Set("source", "not in a bundle");
  card.Set("source", "a sealed bundle").Set("traffic", std::move(traffic));
  return card;
}

Result<std::vector<Shape>> ReadShapes(const fs::path& path, const Operator& op) {
  std::vector<Shape> shapes;
  for (Json& line : TRY(ReadJsonLines(path))) {
    const std::string place = fmt::format("{}: shape {}", path.string(), shapes.size() + 1);
    const Tier tier = TRY_IN(ParseTier(TRY_IN(line.String("tier"), place)), place);
    // A published shape is refused without its released figures, which a bundle must not hold.
    line.Set("tier", TierName(Tier::kCorrected));
    shapes.push_back(TRY_IN(suite::ParseShape(line, op), place));
    shapes.back().tier = tier;
  }
  if (shapes.empty()) return Fail(ErrorKind::kInput, path.string() + ": there is no shape");
  return shapes;
}

}  // namespace

Result<OpenBundle> ReadBundle(const fs::path& folder) {
  const fs::path manifest_path = folder / kManifestName;
  if (!fs::exists(manifest_path)) {
    return Fail(ErrorKind::kNotFound,
                fmt::format("{}: no {} in it, so this is no bundle; `roofmark pack` writes one",
                            folder.string(), kManifestName));
  }
  const Json manifest = TRY(ReadJson(manifest_path));
  if (TRY_IN(manifest.String("format"), manifest_path.string()) != kBundleFormat) {
    return Fail(ErrorKind::kInput, fmt::format("{}: is not of format {}; pack it again",
                                               manifest_path.string(), kBundleFormat));
  }
  OpenBundle bundle;
  bundle.lane =
      TRY_IN(ParseLane(TRY_IN(manifest.String("lane"), manifest_path.string())), "its lane");
  const fs::path contract = folder / "contract.json";
  const Json card = TRY(ReadJson(contract));
  if (!card.is_object()) return Fail(ErrorKind::kInput, contract.string() + ": is not an object");
  bundle.op = TRY_IN(suite::ParseCard(WholeCard(card)), contract.string());
  bundle.op.folder = folder;
  bundle.op.shapes = TRY(ReadShapes(folder / "shapes.jsonl", bundle.op));
  return bundle;
}

}  // namespace roofmark::pipeline
