// SPDX-License-Identifier: Apache-2.0
#include "meter/cupti_api.h"

#include <dlfcn.h>

#include <cstdlib>

#include "base/bind_symbol.h"

namespace roofmark::meter {
namespace {

constexpr const char* kNames[] = {"libcupti.so.13", "libcupti.so.12"};

void* Open(std::string& path) {
  for (const char* name : kNames) {
    if (void* loaded = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD)) {
      path = name;
      return loaded;
    }
  }
  if (const char* named = std::getenv("ROOFMARK_CUPTI")) {
    path = named;
    if (void* opened = ::dlopen(named, RTLD_NOW | RTLD_LOCAL)) return opened;
  }
  for (const char* name : kNames) {
    path = name;
    if (void* opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return opened;
  }
  return nullptr;
}

}  // namespace

CuptiApi LoadCupti() {
  CuptiApi api;
  void* library = Open(api.path);
  if (library == nullptr) {
    const char* why = ::dlerror();
    api.fault = std::string("CUPTI cannot be opened: ") + (why == nullptr ? api.path : why);
    return api;
  }
  const bool complete =
      BindSymbol(library, api.subscribe, "cuptiSubscribe") &&
      BindSymbol(library, api.enable_callback, "cuptiEnableCallback") &&
      BindSymbol(library, api.enable_domain, "cuptiEnableDomain") &&
      BindSymbol(library, api.register_callbacks, "cuptiActivityRegisterCallbacks") &&
      BindSymbol(library, api.activity_enable, "cuptiActivityEnable") &&
      BindSymbol(library, api.flush_all, "cuptiActivityFlushAll") &&
      BindSymbol(library, api.next_record, "cuptiActivityGetNextRecord") &&
      BindSymbol(library, api.dropped_records, "cuptiActivityGetNumDroppedRecords") &&
      BindSymbol(library, api.result_string, "cuptiGetResultString");
  if (!complete) api.fault = api.path + " lacks functions that the meter needs";
  return api;
}

}  // namespace roofmark::meter
