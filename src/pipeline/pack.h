// SPDX-License-Identifier: Apache-2.0
// The sealed bundle: all that the author of a kernel for one operator and lane may see, and nothing
// of what the judge keeps to itself. The bundle is a pure function of the public part of the
// operator, so that pack_check.h can make it again and compare.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/candidate.h"
#include "model/operator.h"

namespace roofmark::pipeline {

// Changes when the files of a bundle or their meaning change.
inline constexpr std::string_view kBundleFormat = "roofmark-bundle/1";
inline constexpr std::string_view kManifestName = "MANIFEST.json";

struct BundleFile {
  std::string path;  // relative, '/' between folders
  std::string text;
};

// README.md, contract.json, shapes.jsonl, reference.py (with the modules that it imports), rules.md
// and, for native lanes, include/roofmark/{abi,<operator>}.h; last the manifest, which holds the
// SHA-256 of each other file. `data` holds examples/lanes/<lane>.md.
// Errors: kNotFound, kIo; kInput where the reference imports a module that a bundle cannot hold.
Result<std::vector<BundleFile>> MakeBundle(const Operator& op, Lane lane, std::string_view canary,
                                           const std::filesystem::path& data);

// The contract without weight, work, traffic, sources and released formulas.
Json ReducedCard(const Operator& op);

struct PackedBundle {
  std::filesystem::path folder;
  std::filesystem::path sidecar;  // beside the folder; must not travel with it
  std::string canary;
};

// Makes and checks the bundle, then puts it in place at once. The canary is a random token in the
// bundle's manifest and README; the sidecar `<folder>.canary.json` records it, so that a text that
// shows the token can be traced to this bundle.
// Errors: kInput where `folder` exists and is not empty, or where the check finds anything (the
// operator's own reference leaks), with the findings; as MakeBundle and CheckBundle.
Result<PackedBundle> PackBundle(const Operator& op, Lane lane, const std::filesystem::path& folder,
                                const std::filesystem::path& data);

}  // namespace roofmark::pipeline
