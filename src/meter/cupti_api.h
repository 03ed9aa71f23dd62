// SPDX-License-Identifier: Apache-2.0
// The part of CUPTI that the meter uses, declared by ourselves and bound at run time. Records are
// declared only as far as their layout has been the same in every CUPTI since 11.0 and as far as we
// read them; cupti_api_test.cc compares offsets with the real headers wherever these are installed.
// Source: NVIDIA CUPTI 13.0 headers cupti_activity.h, cupti_callbacks.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace roofmark::meter {

namespace cupti {

using Status = int;  // CUptiResult; 0 is success
inline constexpr Status kMaxLimitReached = 12;
inline constexpr int kKindMemcpy = 1;
inline constexpr int kKindMemset = 2;
inline constexpr int kKindConcurrentKernel = 10;
inline constexpr int kKindMemcpyPeer = 22;
inline constexpr int kDomainDriver = 1;
inline constexpr int kDomainRuntime = 2;
inline constexpr int kDomainResource = 3;
inline constexpr int kApiEnter = 0;
inline constexpr uint32_t kConditionalHandleCreate = 722;  // cuGraphConditionalHandleCreate
inline constexpr uint8_t kDeviceToDevice = 8;
inline constexpr uint32_t kModuleLoaded = 6;
inline constexpr uint32_t kFlushForced = 1;

struct SubscriberTag;
using Subscriber = SubscriberTag*;

struct ActivityKernel {
  int32_t kind;
  uint8_t cache_config;
  uint8_t shared_memory_config;
  uint16_t registers_per_thread;
  int32_t cache_requested;
  int32_t cache_executed;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
  int32_t grid_x;
  int32_t grid_y;
  int32_t grid_z;
  int32_t block_x;
  int32_t block_y;
  int32_t block_z;
  int32_t static_shared_memory;
  int32_t dynamic_shared_memory;
  uint32_t local_memory_per_thread;
  uint32_t local_memory_total;
  uint32_t correlation_id;
  int64_t grid_id;
  const char* name;
};

struct ActivityMemcpy {
  int32_t kind;
  uint8_t copy_kind;
  uint8_t src_kind;
  uint8_t dst_kind;
  uint8_t flags;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
};

struct ActivityMemset {
  int32_t kind;
  uint32_t value;
  uint64_t bytes;
  uint64_t start;
  uint64_t end;
  uint32_t device_id;
  uint32_t context_id;
  uint32_t stream_id;
};

struct ResourceData {
  void* context;
  void* resource;
  void* descriptor;
};

// The beginning of what a callback for a function of the driver or the runtime gets.
struct ApiData {
  int32_t site;
  const char* function;
};

struct ModuleData {
  uint32_t module_id;
  size_t cubin_size;
  const char* cubin;
};

using Callback = void (*)(void* user, int domain, uint32_t id, const void* data);
using BufferRequested = void (*)(uint8_t** buffer, size_t* size, size_t* max_records);
using BufferCompleted = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size,
                                 size_t valid);

}  // namespace cupti

struct CuptiApi {
  cupti::Status (*subscribe)(cupti::Subscriber*, cupti::Callback, void*) = nullptr;
  cupti::Status (*enable_callback)(uint32_t, cupti::Subscriber, int, uint32_t) = nullptr;
  cupti::Status (*enable_domain)(uint32_t, cupti::Subscriber, int) = nullptr;
  cupti::Status (*register_callbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  cupti::Status (*activity_enable)(int) = nullptr;
  cupti::Status (*flush_all)(uint32_t) = nullptr;
  cupti::Status (*next_record)(uint8_t*, size_t, void**) = nullptr;
  cupti::Status (*dropped_records)(void*, uint32_t, size_t*) = nullptr;
  cupti::Status (*result_string)(cupti::Status, const char**) = nullptr;
  std::string path;   // what was opened
  std::string fault;  // why it cannot be used; empty when it can
};

// Prefers a CUPTI that the process has already loaded (PyTorch brings one), then $ROOFMARK_CUPTI,
// then the loader's search path. Never fails: look at `fault`.
CuptiApi LoadCupti();

}  // namespace roofmark::meter
