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
inline constexpr std::string_view kBundleFormat = "roofmark-bundle/2";
inline constexpr std::string_view kManifestName = "MANIFEST.json";

struct BundleFile {
  std::string path;  // relative, '/' between folders
  std::string text;
  bool executable = false;
};

// What one bundle is made for. With an alias, the operator's name stands nowhere in the bundle: not
// in file names, header, argument struct, contract, reference or manifest.
struct BundleSpec {
  Lane lane = Lane::kCpp;
  std::string alias;   // empty = the operator's own name
  std::string canary;  // PackBundle makes its own
};

// README.md, contract.json, shapes.jsonl, reference.py (with the modules that it imports),
// rules.md, check (a script: does a candidate compile, is it right, and never how fast it is) and,
// for native lanes, include/roofmark/{abi,<operator>}.h; last the manifest, which holds the SHA-256
// of each other file. Shapes that are hidden are left out. `data` holds examples/lanes/<lane>.md.
// Errors: kNotFound, kIo; kInput where the reference imports a module that a bundle cannot hold.
Result<std::vector<BundleFile>> MakeBundle(const Operator& op, const BundleSpec& spec,
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
// shows the token can be traced to this bundle. The sidecar is also the only record of which
// operator an alias stands for: `judge --alias` takes what it says.
// Errors: kInput where `folder` exists and is not empty, where the alias cannot be used, or where
// the check finds anything (the operator's own reference leaks), with the findings; as MakeBundle
// and CheckBundle.
Result<PackedBundle> PackBundle(const Operator& op, BundleSpec spec,
                                const std::filesystem::path& folder,
                                const std::filesystem::path& data);

}  // namespace roofmark::pipeline
