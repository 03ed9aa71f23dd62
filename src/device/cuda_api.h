// SPDX-License-Identifier: Apache-2.0
// The part of the CUDA driver API that Roofmark uses, declared by ourselves so that the build needs
// no CUDA, and found in libcuda.so.1 at run time. cuda_api_test.cc compares types, constants and
// parameter lists with the real cuda.h wherever that is installed.
// Source: NVIDIA CUDA Driver API reference 13.0; symbols with their _v2 suffixes as exported.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace roofmark::device {

namespace cu {

using Status = int;  // CUresult
using Device = int;
using Pointer = unsigned long long;  // CUdeviceptr
using MemoryHandle = unsigned long long;
struct ContextTag;
struct ModuleTag;
struct FunctionTag;
struct StreamTag;
struct EventTag;
struct GraphTag;
struct MemoryPoolTag;
struct GraphExecTag;
struct GraphNodeTag;
using Context = ContextTag*;
using Module = ModuleTag*;
using Function = FunctionTag*;
using Stream = StreamTag*;
using Event = EventTag*;
using Graph = GraphTag*;
using MemoryPool = MemoryPoolTag*;
using GraphExec = GraphExecTag*;
using GraphNode = GraphNodeTag*;

struct Uuid {
  unsigned char bytes[16];
};

struct MemoryLocation {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;
};

struct AllocationProperties {
  int type = 1;                    // CU_MEM_ALLOCATION_TYPE_PINNED
  int requested_handle_types = 1;  // CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
  MemoryLocation location;
  void* win32_metadata = nullptr;
  unsigned char compression_type = 0;
  unsigned char gpu_direct_rdma = 0;
  unsigned short usage = 0;
  unsigned char reserved[4] = {};
};

struct AccessDescription {
  MemoryLocation location;
  int flags = 0;
};

// Which lines of a stream's kernels the L2 cache keeps or gives up first; 0 bytes = no wish.
struct AccessPolicyWindow {
  void* base = nullptr;
  size_t bytes = 0;
  float hit_ratio = 0;
  int hit_property = 0;
  int miss_property = 0;
};

// CUstreamAttrValue, a union of 64 bytes.
union StreamAttribute {
  AccessPolicyWindow window = {};
  unsigned char pad[64];
};

inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNoDevice = 100;
inline constexpr Status kNotReady = 600;
inline constexpr Status kIllegalAddress = 700;
inline constexpr int kHandleTypePosixFd = 1;
inline constexpr int kAccessRead = 1;
inline constexpr int kAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;
inline constexpr int kAttributeMultiprocessors = 16;
inline constexpr int kAttributeL2Bytes = 38;
inline constexpr int kAttributeMajor = 75;
inline constexpr int kAttributeMinor = 76;
inline constexpr int kAttributeSharedPerBlock = 97;  // with a kernel's consent
inline constexpr int kAttributePosixFdHandles = 103;
inline constexpr int kFunctionDynamicShared = 8;
inline constexpr int kLimitPersistingL2 = 6;
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kStreamAccessPolicy = 1;
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventNoTiming = 2;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr int kCaptureGlobal = 0;  // CU_STREAM_CAPTURE_MODE_GLOBAL

}  // namespace cu

// Every function is present in a loaded table, but for those that say so; names are the driver's
// without "cu" and suffix.
struct CudaApi {
  cu::Status (*init)(unsigned) = nullptr;
  cu::Status (*driver_get_version)(int*) = nullptr;
  cu::Status (*get_error_name)(cu::Status, const char**) = nullptr;
  cu::Status (*get_error_string)(cu::Status, const char**) = nullptr;
  cu::Status (*device_get_count)(int*) = nullptr;
  cu::Status (*device_get)(cu::Device*, int) = nullptr;
  cu::Status (*device_get_name)(char*, int, cu::Device) = nullptr;
  cu::Status (*device_get_uuid)(cu::Uuid*, cu::Device) = nullptr;
  cu::Status (*device_get_attribute)(int*, int, cu::Device) = nullptr;
  cu::Status (*primary_ctx_retain)(cu::Context*, cu::Device) = nullptr;
  cu::Status (*primary_ctx_release)(cu::Device) = nullptr;
  cu::Status (*ctx_set_current)(cu::Context) = nullptr;
  cu::Status (*ctx_get_current)(cu::Context*) = nullptr;
  cu::Status (*ctx_synchronize)() = nullptr;
  // Null before driver 555 (CUDA 12.5).
  cu::Status (*ctx_record_event)(cu::Context, cu::Event) = nullptr;
  cu::Status (*ctx_reset_persisting_l2)() = nullptr;
  cu::Status (*ctx_get_limit)(size_t*, int) = nullptr;
  cu::Status (*ctx_set_limit)(int, size_t) = nullptr;
  cu::Status (*device_get_default_mem_pool)(cu::MemoryPool*, cu::Device) = nullptr;
  cu::Status (*mem_pool_set_attribute)(cu::MemoryPool, int, void*) = nullptr;
  cu::Status (*mem_get_info)(size_t*, size_t*) = nullptr;
  cu::Status (*mem_get_granularity)(size_t*, const cu::AllocationProperties*, int) = nullptr;
  cu::Status (*mem_create)(cu::MemoryHandle*, size_t, const cu::AllocationProperties*,
                           unsigned long long) = nullptr;
  cu::Status (*mem_release)(cu::MemoryHandle) = nullptr;
  cu::Status (*mem_address_reserve)(cu::Pointer*, size_t, size_t, cu::Pointer,
                                    unsigned long long) = nullptr;
  cu::Status (*mem_address_free)(cu::Pointer, size_t) = nullptr;
  cu::Status (*mem_map)(cu::Pointer, size_t, size_t, cu::MemoryHandle,
                        unsigned long long) = nullptr;
  cu::Status (*mem_unmap)(cu::Pointer, size_t) = nullptr;
  cu::Status (*mem_set_access)(cu::Pointer, size_t, const cu::AccessDescription*, size_t) = nullptr;
  cu::Status (*mem_export)(void*, cu::MemoryHandle, int, unsigned long long) = nullptr;
  cu::Status (*mem_import)(cu::MemoryHandle*, void*, int) = nullptr;
  cu::Status (*mem_alloc)(cu::Pointer*, size_t) = nullptr;
  cu::Status (*mem_free)(cu::Pointer) = nullptr;
  cu::Status (*memcpy_htod)(cu::Pointer, const void*, size_t) = nullptr;
  cu::Status (*memcpy_dtoh)(void*, cu::Pointer, size_t) = nullptr;
  cu::Status (*memcpy_dtod)(cu::Pointer, cu::Pointer, size_t) = nullptr;
  cu::Status (*memset_d8_async)(cu::Pointer, unsigned char, size_t, cu::Stream) = nullptr;
  cu::Status (*mem_host_alloc)(void**, size_t, unsigned) = nullptr;
  cu::Status (*mem_free_host)(void*) = nullptr;
  cu::Status (*mem_host_get_device_pointer)(cu::Pointer*, void*, unsigned) = nullptr;
  cu::Status (*module_load_data)(cu::Module*, const void*) = nullptr;
  cu::Status (*module_unload)(cu::Module) = nullptr;
  cu::Status (*module_get_function)(cu::Function*, cu::Module, const char*) = nullptr;
  cu::Status (*func_set_attribute)(cu::Function, int, int) = nullptr;
  cu::Status (*launch_kernel)(cu::Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, unsigned, cu::Stream, void**, void**) = nullptr;
  cu::Status (*stream_create)(cu::Stream*, unsigned) = nullptr;
  cu::Status (*stream_destroy)(cu::Stream) = nullptr;
  cu::Status (*stream_synchronize)(cu::Stream) = nullptr;
  cu::Status (*stream_query)(cu::Stream) = nullptr;
  cu::Status (*stream_wait_event)(cu::Stream, cu::Event, unsigned) = nullptr;
  cu::Status (*stream_get_attribute)(cu::Stream, int, cu::StreamAttribute*) = nullptr;
  cu::Status (*stream_set_attribute)(cu::Stream, int, const cu::StreamAttribute*) = nullptr;
  cu::Status (*event_create)(cu::Event*, unsigned) = nullptr;
  cu::Status (*event_destroy)(cu::Event) = nullptr;
  cu::Status (*event_record)(cu::Event, cu::Stream) = nullptr;
  cu::Status (*event_elapsed_ms)(float*, cu::Event, cu::Event) = nullptr;
  cu::Status (*stream_begin_capture)(cu::Stream, int) = nullptr;
  cu::Status (*stream_end_capture)(cu::Stream, cu::Graph*) = nullptr;
  cu::Status (*graph_get_nodes)(cu::Graph, cu::GraphNode*, size_t*) = nullptr;
  cu::Status (*graph_instantiate)(cu::GraphExec*, cu::Graph, unsigned long long) = nullptr;
  cu::Status (*graph_launch)(cu::GraphExec, cu::Stream) = nullptr;
  cu::Status (*graph_destroy)(cu::Graph) = nullptr;
  cu::Status (*graph_exec_destroy)(cu::GraphExec) = nullptr;

  // "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered".
  std::string Describe(cu::Status status) const;
  // Nothing on success, else a kDevice error that says what was being done.
  Result<void> Check(cu::Status status, const char* what) const;
};

// Opens the driver. The library stays open for the life of the process, as CUDA requires.
// Errors: kDevice when libcuda.so.1 is missing or lacks a function.
Result<CudaApi> LoadCudaApi();

}  // namespace roofmark::device
