// SPDX-License-Identifier: Apache-2.0
#include "meter/cupti_api.h"

#include <dlfcn.h>

#include <cstdlib>

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

template <typename Function>
bool Bind(void* library, Function*& slot, const char* name) {
  slot = reinterpret_cast<Function*>(::dlsym(library, name));
  return slot != nullptr;
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
  const bool complete = Bind(library, api.subscribe, "cuptiSubscribe") &&
                        Bind(library, api.enable_callback, "cuptiEnableCallback") &&
                        Bind(library, api.enable_domain, "cuptiEnableDomain") &&
                        Bind(library, api.register_callbacks, "cuptiActivityRegisterCallbacks") &&
                        Bind(library, api.activity_enable, "cuptiActivityEnable") &&
                        Bind(library, api.flush_all, "cuptiActivityFlushAll") &&
                        Bind(library, api.next_record, "cuptiActivityGetNextRecord") &&
                        Bind(library, api.dropped_records, "cuptiActivityGetNumDroppedRecords") &&
                        Bind(library, api.result_string, "cuptiGetResultString");
  if (!complete) api.fault = api.path + " lacks functions that the meter needs";
  return api;
}

}  // namespace roofmark::meter
