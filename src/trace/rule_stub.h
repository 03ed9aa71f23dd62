// SPDX-License-Identifier: Apache-2.0
// From kernels that no rule claims to rules that a person only has to finish.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trace/trace.h"

namespace roofmark::trace {

// The name without return type, template arguments, parameters and the namespaces around it:
// "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<float, 1>(float*)" ->
// "fused_dropout_kernel_vec". Of a mangled name the last name of its path; other texts unchanged.
std::string BaseKernelName(std::string_view name);

// A rules/*.toml text with a rule for each base name, largest time first: what remains is to name
// the operator. `unknown` in any order.
std::string RuleStubs(const std::vector<UnknownKernel>& unknown);

}  // namespace roofmark::trace
