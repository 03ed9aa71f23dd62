// SPDX-License-Identifier: Apache-2.0
// What the meter and the judge read off a cubin, which is a 64-bit ELF file: its own extent (so
// that padding behind it does not change its hash) and the names of its kernels. Source: System V
// ABI, ELF-64 object file format; kernels are the sections ".text.<name>".
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace roofmark::meter {

// Bytes up to the end of the last header or section; 0 when this is no ELF file or is cut short.
size_t CubinExtent(std::string_view bytes);

// Names of the kernels (and of separately compiled device functions) in the order of the file.
// Empty when this is no well-formed cubin.
std::vector<std::string> CubinKernels(std::string_view bytes);

// The same names, and those of all functions that its symbols define: the driver finds kernels by
// these. `plain` says that they are all that anybody can find: an ELF file for CUDA in its usual
// form, in which code lies in sections ".text.<name>" alone, each with a function of that name, and
// functions in code alone. Any file that cannot be read so may hold a kernel of any name. So do
// nvcc and ptxas 13.0 write cubins for sm_80 to sm_120a, linked or not, and Triton 3.6.
struct CubinNames {
  bool plain = false;
  std::vector<std::string> names;
};
CubinNames ReadCubinNames(std::string_view bytes);

// Whether its kernels can launch other kernels, or graphs (dynamic parallelism): it asks the driver
// for what does so. Seen of nvcc 13.0: __cuda_syscall_cnpv2LaunchDeviceV2 and cudaGraphLaunch are
// undefined symbols of a linked cubin.
bool LaunchesFromDevice(std::string_view bytes);

// SHA-256 of the cubin's own extent, or of all bytes where that is unknown.
std::string CubinHash(std::string_view bytes);

}  // namespace roofmark::meter
