// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_api.h"

#include <dlfcn.h>

#include "base/bind_symbol.h"

namespace roofmark::device {
namespace {

// Binds one function after another and remembers the first that is missing.
class Binder {
 public:
  explicit Binder(void* library) : library_(library) {}

  template <typename Function>
  void Bind(Function*& slot, const char* name) {
    if (!BindSymbol(library_, slot, name) && missing_.empty()) missing_ = name;
  }
  // For what older drivers lack: null there.
  template <typename Function>
  void BindIfThere(Function*& slot, const char* name) {
    BindSymbol(library_, slot, name);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* library_;
  std::string missing_;
};

void BindContextAndDevice(Binder& binder, CudaApi& api) {
  binder.Bind(api.init, "cuInit");
  binder.Bind(api.driver_get_version, "cuDriverGetVersion");
  binder.Bind(api.get_error_name, "cuGetErrorName");
  binder.Bind(api.get_error_string, "cuGetErrorString");
  binder.Bind(api.device_get_count, "cuDeviceGetCount");
  binder.Bind(api.device_get, "cuDeviceGet");
  binder.Bind(api.device_get_name, "cuDeviceGetName");
  binder.Bind(api.device_get_uuid, "cuDeviceGetUuid_v2");
  binder.Bind(api.device_get_attribute, "cuDeviceGetAttribute");
  binder.Bind(api.primary_ctx_retain, "cuDevicePrimaryCtxRetain");
  binder.Bind(api.primary_ctx_release, "cuDevicePrimaryCtxRelease_v2");
  binder.Bind(api.ctx_set_current, "cuCtxSetCurrent");
  binder.Bind(api.ctx_get_current, "cuCtxGetCurrent");
  binder.Bind(api.ctx_synchronize, "cuCtxSynchronize");
  binder.BindIfThere(api.ctx_record_event, "cuCtxRecordEvent");
  binder.Bind(api.ctx_reset_persisting_l2, "cuCtxResetPersistingL2Cache");
  binder.Bind(api.ctx_get_limit, "cuCtxGetLimit");
  binder.Bind(api.ctx_set_limit, "cuCtxSetLimit");
}

void BindMemory(Binder& binder, CudaApi& api) {
  binder.Bind(api.device_get_default_mem_pool, "cuDeviceGetDefaultMemPool");
  binder.Bind(api.mem_pool_set_attribute, "cuMemPoolSetAttribute");
  binder.Bind(api.mem_get_info, "cuMemGetInfo_v2");
  binder.Bind(api.mem_get_granularity, "cuMemGetAllocationGranularity");
  binder.Bind(api.mem_create, "cuMemCreate");
  binder.Bind(api.mem_release, "cuMemRelease");
  binder.Bind(api.mem_address_reserve, "cuMemAddressReserve");
  binder.Bind(api.mem_address_free, "cuMemAddressFree");
  binder.Bind(api.mem_map, "cuMemMap");
  binder.Bind(api.mem_unmap, "cuMemUnmap");
  binder.Bind(api.mem_set_access, "cuMemSetAccess");
  binder.Bind(api.mem_export, "cuMemExportToShareableHandle");
  binder.Bind(api.mem_import, "cuMemImportFromShareableHandle");
  binder.Bind(api.mem_alloc, "cuMemAlloc_v2");
  binder.Bind(api.mem_free, "cuMemFree_v2");
  binder.Bind(api.memcpy_htod, "cuMemcpyHtoD_v2");
  binder.Bind(api.memcpy_dtoh, "cuMemcpyDtoH_v2");
  binder.Bind(api.memcpy_dtod, "cuMemcpyDtoD_v2");
  binder.Bind(api.memset_d8_async, "cuMemsetD8Async");
  binder.Bind(api.mem_host_alloc, "cuMemHostAlloc");
  binder.Bind(api.mem_free_host, "cuMemFreeHost");
  binder.Bind(api.mem_host_get_device_pointer, "cuMemHostGetDevicePointer_v2");
}

void BindExecution(Binder& binder, CudaApi& api) {
  binder.Bind(api.module_load_data, "cuModuleLoadData");
  binder.Bind(api.module_unload, "cuModuleUnload");
  binder.Bind(api.module_get_function, "cuModuleGetFunction");
  binder.Bind(api.func_set_attribute, "cuFuncSetAttribute");
  binder.Bind(api.launch_kernel, "cuLaunchKernel");
  binder.Bind(api.stream_create, "cuStreamCreate");
  binder.Bind(api.stream_destroy, "cuStreamDestroy_v2");
  binder.Bind(api.stream_synchronize, "cuStreamSynchronize");
  binder.Bind(api.stream_query, "cuStreamQuery");
  binder.Bind(api.stream_wait_event, "cuStreamWaitEvent");
  binder.Bind(api.stream_get_attribute, "cuStreamGetAttribute");
  binder.Bind(api.stream_set_attribute, "cuStreamSetAttribute");
  binder.Bind(api.event_create, "cuEventCreate");
  binder.Bind(api.event_destroy, "cuEventDestroy_v2");
  binder.Bind(api.event_record, "cuEventRecord");
  binder.Bind(api.event_elapsed_ms, "cuEventElapsedTime");
  binder.Bind(api.stream_begin_capture, "cuStreamBeginCapture_v2");
  binder.Bind(api.stream_end_capture, "cuStreamEndCapture");
  binder.Bind(api.graph_get_nodes, "cuGraphGetNodes");
  binder.Bind(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  binder.Bind(api.graph_launch, "cuGraphLaunch");
  binder.Bind(api.graph_destroy, "cuGraphDestroy");
  binder.Bind(api.graph_exec_destroy, "cuGraphExecDestroy");
}

}  // namespace

std::string CudaApi::Describe(cu::Status status) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (get_error_name(status, &name) != cu::kSuccess || name == nullptr) name = "unknown error";
  if (get_error_string(status, &text) != cu::kSuccess || text == nullptr) text = "no description";
  return std::string(name) + " (" + std::to_string(status) + "): " + text;
}

Result<void> CudaApi::Check(cu::Status status, const char* what) const {
  if (status == cu::kSuccess) return {};
  return Fail(ErrorKind::kDevice, std::string("CUDA: ") + what + ": " + Describe(status));
}

Result<CudaApi> LoadCudaApi() {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return Fail(ErrorKind::kDevice,
                "the NVIDIA driver's libcuda.so.1 was not found: install the driver (Debian: "
                "nvidia-driver), or put its folder into LD_LIBRARY_PATH");
  }
  CudaApi api;
  Binder binder(library);
  BindContextAndDevice(binder, api);
  BindMemory(binder, api);
  BindExecution(binder, api);
  if (!binder.missing().empty()) {
    return Fail(ErrorKind::kDevice, "libcuda.so.1 has no " + binder.missing() +
                                        ": the driver is too old, CUDA 12 or newer is needed");
  }
  return api;
}

}  // namespace roofmark::device
