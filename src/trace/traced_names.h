// SPDX-License-Identifier: Apache-2.0
// Execution traces and profiles that share no numbers: profiles before 2024 have none, and other
// runs of the same program count anew. Both name the operators of a thread in the same order.
#pragma once

#include <cstdint>

#include "trace/execution_trace.h"
#include "trace/profile.h"

namespace roofmark::trace {

struct NamesMatched {
  uint64_t given = 0;     // operators of the profile that got arguments
  uint64_t disputed = 0;  // that fit at several places of the trace with different arguments
};

// Gives arguments to operators without, by sequences of names: each run of at least 16 operators of
// a thread that is a run of the trace, longest first, gets the arguments of that place; where
// several places fit as well, those on which they agree. A step label around operators belongs to
// their names, since a step of another batch has other sizes. A thread of which less than 90 % is
// found that way is another program's, and gets nothing. Marks operators in `traced`, where that is
// asked for, disputed ones too.
NamesMatched AddArgumentsByNames(const ExecutionTrace& trace, Profile& profile,
                                 TracedOps* traced = nullptr);

}  // namespace roofmark::trace
