// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of the driver and of NVRTC with the real headers, where these are
// installed.
#include "device/cuda_api.h"

#include "base/testing.h"
#include "device/nvrtc.h"

#if __has_include(<cuda.h>) && __has_include(<nvrtc.h>)
#include <cuda.h>
#include <nvrtc.h>

#include <type_traits>

namespace roofmark::device {
namespace {

// Enumerations of theirs are ints of ours and opaque handles have other names, so parameters are
// compared by what the calling convention sees: pointer or number, and size.
template <typename Ours, typename Theirs>
constexpr bool SameParameter() {
  // The sizes of pointers are meant. NOLINTNEXTLINE(bugprone-sizeof-expression)
  return std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs);
}
template <typename Ours, typename Theirs>
struct SameFunction : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
  requires(sizeof...(A1) == sizeof...(A2))
struct SameFunction<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<SameParameter<R1, R2>() && (SameParameter<A1, A2>() && ...)> {};

#define SAME_FUNCTION(Api, ours, real) \
  static_assert(SameFunction<decltype(Api::ours), decltype(&::real)>::value, #real)

SAME_FUNCTION(CudaApi, init, cuInit);
SAME_FUNCTION(CudaApi, driver_get_version, cuDriverGetVersion);
SAME_FUNCTION(CudaApi, get_error_name, cuGetErrorName);
SAME_FUNCTION(CudaApi, get_error_string, cuGetErrorString);
SAME_FUNCTION(CudaApi, device_get_count, cuDeviceGetCount);
SAME_FUNCTION(CudaApi, device_get, cuDeviceGet);
SAME_FUNCTION(CudaApi, device_get_name, cuDeviceGetName);
SAME_FUNCTION(CudaApi, device_get_uuid, cuDeviceGetUuid_v2);
SAME_FUNCTION(CudaApi, device_get_attribute, cuDeviceGetAttribute);
SAME_FUNCTION(CudaApi, primary_ctx_retain, cuDevicePrimaryCtxRetain);
SAME_FUNCTION(CudaApi, primary_ctx_release, cuDevicePrimaryCtxRelease_v2);
SAME_FUNCTION(CudaApi, ctx_set_current, cuCtxSetCurrent);
SAME_FUNCTION(CudaApi, ctx_get_current, cuCtxGetCurrent);
SAME_FUNCTION(CudaApi, ctx_synchronize, cuCtxSynchronize);
#if CUDA_VERSION >= 12050
SAME_FUNCTION(CudaApi, ctx_record_event, cuCtxRecordEvent);
#endif
SAME_FUNCTION(CudaApi, ctx_reset_persisting_l2, cuCtxResetPersistingL2Cache);
SAME_FUNCTION(CudaApi, ctx_get_limit, cuCtxGetLimit);
SAME_FUNCTION(CudaApi, ctx_set_limit, cuCtxSetLimit);
SAME_FUNCTION(CudaApi, device_get_default_mem_pool, cuDeviceGetDefaultMemPool);
SAME_FUNCTION(CudaApi, mem_pool_set_attribute, cuMemPoolSetAttribute);
SAME_FUNCTION(CudaApi, mem_get_info, cuMemGetInfo_v2);
SAME_FUNCTION(CudaApi, mem_get_granularity, cuMemGetAllocationGranularity);
SAME_FUNCTION(CudaApi, mem_create, cuMemCreate);
SAME_FUNCTION(CudaApi, mem_release, cuMemRelease);
SAME_FUNCTION(CudaApi, mem_address_reserve, cuMemAddressReserve);
SAME_FUNCTION(CudaApi, mem_address_free, cuMemAddressFree);
SAME_FUNCTION(CudaApi, mem_map, cuMemMap);
SAME_FUNCTION(CudaApi, mem_unmap, cuMemUnmap);
SAME_FUNCTION(CudaApi, mem_set_access, cuMemSetAccess);
SAME_FUNCTION(CudaApi, mem_export, cuMemExportToShareableHandle);
SAME_FUNCTION(CudaApi, mem_import, cuMemImportFromShareableHandle);
SAME_FUNCTION(CudaApi, mem_alloc, cuMemAlloc_v2);
SAME_FUNCTION(CudaApi, mem_free, cuMemFree_v2);
SAME_FUNCTION(CudaApi, memcpy_htod, cuMemcpyHtoD_v2);
SAME_FUNCTION(CudaApi, memcpy_dtoh, cuMemcpyDtoH_v2);
SAME_FUNCTION(CudaApi, memcpy_dtod, cuMemcpyDtoD_v2);
SAME_FUNCTION(CudaApi, memset_d8_async, cuMemsetD8Async);
SAME_FUNCTION(CudaApi, mem_host_alloc, cuMemHostAlloc);
SAME_FUNCTION(CudaApi, mem_free_host, cuMemFreeHost);
SAME_FUNCTION(CudaApi, mem_host_get_device_pointer, cuMemHostGetDevicePointer_v2);
SAME_FUNCTION(CudaApi, module_load_data, cuModuleLoadData);
SAME_FUNCTION(CudaApi, module_unload, cuModuleUnload);
SAME_FUNCTION(CudaApi, module_get_function, cuModuleGetFunction);
SAME_FUNCTION(CudaApi, func_set_attribute, cuFuncSetAttribute);
SAME_FUNCTION(CudaApi, launch_kernel, cuLaunchKernel);
SAME_FUNCTION(CudaApi, stream_create, cuStreamCreate);
SAME_FUNCTION(CudaApi, stream_destroy, cuStreamDestroy_v2);
SAME_FUNCTION(CudaApi, stream_synchronize, cuStreamSynchronize);
SAME_FUNCTION(CudaApi, stream_query, cuStreamQuery);
SAME_FUNCTION(CudaApi, stream_wait_event, cuStreamWaitEvent);
SAME_FUNCTION(CudaApi, stream_get_attribute, cuStreamGetAttribute);
SAME_FUNCTION(CudaApi, stream_set_attribute, cuStreamSetAttribute);
SAME_FUNCTION(CudaApi, stream_begin_capture, cuStreamBeginCapture_v2);
SAME_FUNCTION(CudaApi, stream_end_capture, cuStreamEndCapture);
SAME_FUNCTION(CudaApi, graph_get_nodes, cuGraphGetNodes);
SAME_FUNCTION(CudaApi, graph_instantiate, cuGraphInstantiateWithFlags);
SAME_FUNCTION(CudaApi, graph_launch, cuGraphLaunch);
SAME_FUNCTION(CudaApi, graph_destroy, cuGraphDestroy);
SAME_FUNCTION(CudaApi, graph_exec_destroy, cuGraphExecDestroy);
SAME_FUNCTION(CudaApi, event_create, cuEventCreate);
SAME_FUNCTION(CudaApi, event_destroy, cuEventDestroy_v2);
SAME_FUNCTION(CudaApi, event_record, cuEventRecord);
SAME_FUNCTION(NvrtcApi, version, nvrtcVersion);
SAME_FUNCTION(NvrtcApi, error_string, nvrtcGetErrorString);
SAME_FUNCTION(NvrtcApi, create, nvrtcCreateProgram);
SAME_FUNCTION(NvrtcApi, destroy, nvrtcDestroyProgram);
SAME_FUNCTION(NvrtcApi, compile, nvrtcCompileProgram);
SAME_FUNCTION(NvrtcApi, log_size, nvrtcGetProgramLogSize);
SAME_FUNCTION(NvrtcApi, log, nvrtcGetProgramLog);
SAME_FUNCTION(NvrtcApi, cubin_size, nvrtcGetCUBINSize);
SAME_FUNCTION(NvrtcApi, cubin, nvrtcGetCUBIN);

static_assert(sizeof(cu::Uuid) == sizeof(CUuuid));
static_assert(sizeof(cu::AllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(cu::AllocationProperties, requested_handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(cu::AllocationProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(offsetof(cu::AllocationProperties, compression_type) ==
              offsetof(CUmemAllocationProp, allocFlags));
static_assert(sizeof(cu::AccessDescription) == sizeof(CUmemAccessDesc));
static_assert(sizeof(cu::StreamAttribute) == sizeof(CUstreamAttrValue));
static_assert(offsetof(cu::AccessPolicyWindow, base) == offsetof(CUaccessPolicyWindow, base_ptr));
static_assert(offsetof(cu::AccessPolicyWindow, bytes) == offsetof(CUaccessPolicyWindow, num_bytes));
static_assert(sizeof(cu::AccessPolicyWindow) == sizeof(CUaccessPolicyWindow));
static_assert(offsetof(cu::AccessDescription, flags) == offsetof(CUmemAccessDesc, flags));

static_assert(cu::kOutOfMemory == CUDA_ERROR_OUT_OF_MEMORY);
static_assert(cu::kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(cu::kNotReady == CUDA_ERROR_NOT_READY);
static_assert(cu::kIllegalAddress == CUDA_ERROR_ILLEGAL_ADDRESS);
static_assert(cu::kHandleTypePosixFd == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(cu::kAccessRead == CU_MEM_ACCESS_FLAGS_PROT_READ);
static_assert(cu::kAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(cu::kGranularityMinimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(cu::kAttributeMultiprocessors == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(cu::kAttributeL2Bytes == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(cu::kAttributeMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(cu::kAttributeMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(cu::kAttributePosixFdHandles ==
              CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
static_assert(cu::kAttributeSharedPerBlock ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(cu::kFunctionDynamicShared == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(cu::kLimitPersistingL2 == CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
static_assert(cu::kStreamAccessPolicy == CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW);
static_assert(cu::kEventNoTiming == CU_EVENT_DISABLE_TIMING);
static_assert(cu::kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(cu::kHostAllocDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(cu::MemoryLocation{}.type == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(cu::AllocationProperties{}.type == CU_MEM_ALLOCATION_TYPE_PINNED);

TEST(CudaDeclarations, AreThoseOfTheInstalledHeaders) {
  SUCCEED() << "compared when this was compiled, with CUDA " << CUDA_VERSION;
}

}  // namespace
}  // namespace roofmark::device
#else
TEST(CudaDeclarations, AreThoseOfTheInstalledHeaders) {
  GTEST_SKIP() << "no CUDA headers are installed here";
}
#endif
