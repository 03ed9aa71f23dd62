// SPDX-License-Identifier: Apache-2.0
// Reads a sealed bundle back as the operator that it describes, so that whoever holds a bundle and
// nothing else can tell whether a candidate is right. Such an operator has no work, traffic, weight
// or released figures: no speed can be told from it.
#pragma once

#include <filesystem>

#include "base/result.h"
#include "model/candidate.h"
#include "model/operator.h"

namespace roofmark::pipeline {

struct OpenBundle {
  Operator op;  // its name is the alias where the bundle has one; its folder is the bundle
  Lane lane = Lane::kCpp;
};

// Guarantees: what a card guarantees (suite/card.h), as far as the bundle states it.
// Errors: kNotFound, kIo; kInput for what is no bundle of this version's format.
Result<OpenBundle> ReadBundle(const std::filesystem::path& folder);

}  // namespace roofmark::pipeline
