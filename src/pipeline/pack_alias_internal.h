// SPDX-License-Identifier: Apache-2.0
// Operator names are often symbols of well-known projects, and a reader who knows one may recall a
// kernel instead of writing one. An alias stands in a bundle where the name would, however it is
// spelt there; what cannot be renamed (a call of a library's own function) is found.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/operator.h"

namespace roofmark::pipeline {

// The names that give the operator away, longest first.
std::vector<std::string> NamesBehind(const Operator& op);

// The text with each of the names replaced: rms_norm, RMS_NORM, RMSNorm, "rms norm", rms-norm, and
// these as part of a longer identifier (_rms_norm_of). Attributes of other modules (F.rms_norm) are
// left as they are, since they are not ours to rename; FindName finds them.
std::string Renamed(std::string_view text, const std::vector<std::string>& names,
                    std::string_view alias);

// The first spelling of one of the names in the text, as written there, also inside a longer word
// where the name has at least six letters ("FusedRMSNormGated").
std::optional<std::string> FindName(std::string_view text, const std::vector<std::string>& names);

// Errors: kInput where the alias is no usable name, holds one of the operator's, or is the name of
// another operator (`known`).
Result<void> CheckAlias(const Operator& op, const std::string& alias, bool known);

}  // namespace roofmark::pipeline
