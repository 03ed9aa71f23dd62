// SPDX-License-Identifier: Apache-2.0
// Who owns a piece of device time: decided by where its code object came from. Two witnesses are
// the judge's own and beyond the candidate's reach: the hashes of the cubins that its own
// compilation made, and the names of the kernels that the candidate's source defines. Which shared
// object loaded a module is the meter's testimony; it can only take ownership away or tell foreign
// owners apart. A file's name counts for the better where the file lies in a place that the
// candidate cannot write, and only there.
//
// Code that comes out of the candidate's own bytes and is none of the judge's compilation is
// kPrebuilt: an embedded cubin, a shared object unpacked into /scratch, an image that Python hands
// to the driver through ctypes.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "gate/cuda_timeline.h"
#include "gate/stopwatch.h"
#include "model/verdict.h"

namespace roofmark::gate {

// Names of the functions that are decorated as kernels in a Python source: with @triton.jit (or
// @jit, @gluon.jit, with or without arguments, below or above an autotuner) in any lane, and with
// what the lane's own language has besides: @cute.kernel, @T.prim_func.
std::vector<std::string> JitKernelNames(std::string_view python, Lane lane = Lane::kTriton);

// Whether the language of a lane would give its kernel from one of these functions this name: the
// function's own, kernel_NAME_..._0 and kernel_cutlass_NAME_..._0 in the CuTe DSL, NAME_kernel and
// NAME_kernel_1 in TileLang. Source: nvidia-cutlass-dsl 4.8 (base_dsl/dsl.py), TileLang 0.1.15.
bool IsKernelOf(Lane lane, const std::vector<std::string>& functions, std::string_view kernel);

// Names of TorchInductor's kernels (triton_...) in the Python files below a worker's scratch
// folder: it writes each kernel that it generates there before compiling it. Kernels of other names
// may be the candidate's own inside a compiled function. What cannot be read is left out.
std::vector<std::string> GeneratedKernels(const std::filesystem::path& scratch);

// Whether the object at this path may be one that the candidate put there: it lies where the
// candidate can write, or among its files, or its place is not known: a path that is not whole, or
// goes through /proc or /dev. The name of the main program alone ("roofmark") is none.
bool MayBeCandidates(std::string_view path, const Provenance& provenance);

// Whether the file at this path goes by the name of a vendor's library or of the framework's.
bool IsForeignLibrary(std::string_view path);

// Unknown where a module is loaded that may hold kernels of any name, unless it is the judge's own
// compilation or came out of an installed library of a vendor's or the framework's: a name then
// says no more which code ran.
Owner OwnerOf(const MeterReport& report, const MeteredOperation& operation,
              const Provenance& provenance);

// Whose the kernels are that kernels of the judge's own compilation launched: a kernel can only
// name those that it was linked with, unless the host handed it the address of another module's.
// So they are the candidate's where nothing but that compilation came out of its files.
Owner OwnerOfChildren(const MeterReport& report, const Provenance& provenance);

}  // namespace roofmark::gate
