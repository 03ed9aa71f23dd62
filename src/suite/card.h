// SPDX-License-Identifier: Apache-2.0
// Reads an operator from its folder: operator.toml (the contract) and shapes.jsonl (its shapes). A
// card is data from a person, so everything that can be checked without values is checked here, and
// each refusal names file, key and what would be right.
#pragma once

#include <filesystem>

#include "base/json.h"
#include "base/result.h"
#include "model/operator.h"

namespace roofmark::suite {

// Reads <folder>/operator.toml and <folder>/shapes.jsonl; the card's name must be the folder's.
// Guarantees: names are usable and used once; every expression parses and names only axes, derived
// axes declared before it and attributes; every output has a tolerance; every shape gives each axis
// with its type and nothing unknown, and shape ids are unique. Sizes, work and traffic of a shape
// are computed by MakeWorkload (suite/make_workload.h).
// Errors: kNotFound, kIo, kInput.
Result<Operator> ReadOperator(const std::filesystem::path& folder);

// The parts, for cards that are not files. ParseCard leaves `shapes` empty.
Result<Operator> ParseCard(const Json& card);
Result<Shape> ParseShape(const Json& line, const Operator& op);

}  // namespace roofmark::suite
