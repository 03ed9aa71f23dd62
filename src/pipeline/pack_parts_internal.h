// SPDX-License-Identifier: Apache-2.0
// The public part of one operator, file by file: what bundles and releases both hand out.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/operator.h"
#include "pipeline/pack.h"

namespace roofmark::pipeline {

// kInput for an operator that `suite import` made: its reference needs the foreign files beside it,
// and nothing here could tell what in them should stay hidden.
Result<void> RefuseImported(const Operator& op);

// contract.json of an operator, as it stands in a file.
std::string ContractText(const Operator& op);

// shapes.jsonl without what was released, and without shapes that are hidden.
std::string PublicShapesText(const Operator& op);

// roofmark_ref/*.py: the modules of ours that the reference imports, and those that these import.
// Errors: kInput for a module that is not there.
Result<std::vector<BundleFile>> ImportedModules(const std::string& reference);

}  // namespace roofmark::pipeline
