// SPDX-License-Identifier: Apache-2.0
// Runs for the report's tests. Names and sizes are like real ones, so that screenshots are telling;
// the device and every time are made up by formula, and say so.
#pragma once

#include "report/report.h"

namespace roofmark::report {

// Four operators, two candidates that pass most workloads, one that fails, two baselines.
Run SampleRun();

// One ready candidate against one baseline on one operator, without aggregate weights mined.
Run ReadyRun();

// SampleRun whose every free text tries to break out of the page, the table or the terminal.
Run HostileRun();

// `workloads` of SampleRun's kind, each with a verdict of `candidates` candidates.
Run LargeRun(size_t workloads, size_t candidates);

// What HostileRun's texts would do if they were markup: this text would become an element.
inline constexpr const char* kHostileTag = "<img src=x onerror=\"document.title='owned'\">";

}  // namespace roofmark::report
