// SPDX-License-Identifier: Apache-2.0
// What a bundle must not show about an operator: names of hidden facts, the figures themselves, and
// the texts that say where they come from.
#pragma once

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/operator.h"

namespace roofmark::pipeline {

// Names that no bundle has a use for, wherever they stand; compared without case, '_' and '-'.
// The keys of the released figures (shapes.jsonl, `published`) are all among them.
inline constexpr std::array<std::string_view, 25> kHiddenNames = {
    "weightpublished", "publishedweight", "roofline",     "troofline",     "speedoflight",
    "solus",           "solns",           "soltime",      "wflops",        "qread",
    "qwrite",          "produs",          "prodns",       "productionus",  "deployedns",
    "prodframework",   "callcount",       "provenance",   "totalduration", "totaldurationus",
    "secretseed",      "seeds",           "trafficbytes", "fleettime",     "importanceweight"};

// Words that a text may use but that are hidden facts where they stand as a key ("work": 5).
inline constexpr std::array<std::string_view, 5> kHiddenKeys = {"work", "traffic", "sol", "roof",
                                                                "published"};

struct HiddenFigure {
  double value = 0;
  std::string what;  // "rms_norm/0 sol_us H20"
};

struct Hidden {
  std::vector<HiddenFigure> figures;
  std::vector<std::string> texts;  // without spaces, lower case; each at least 8 long
  std::vector<std::string> words;  // whole words, lower case: names of sources ("sglang")
  std::vector<std::string> names;  // of the operator behind an alias, in any spelling
};

// Everything hidden about the operator: released figures and weights as its files hold them, W and
// Q of every shape by our formulas, and the SOL time of every shape on every device card that
// `devices` (a folder; may be absent) holds.
// Errors: those of reading the operator's own files.
Result<Hidden> CollectHidden(const Operator& op, const std::filesystem::path& devices);

// Lower case and without white space: how texts are compared.
std::string Squeeze(std::string_view text);

}  // namespace roofmark::pipeline
