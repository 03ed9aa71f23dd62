// SPDX-License-Identifier: Apache-2.0
// Compares our declarations of CUPTI with the real headers, where these are installed.
#include "meter/cupti_api.h"

#include "base/testing.h"

#if __has_include(<cupti.h>) && __has_include(<cuda.h>)
#include <cupti.h>
#include <cupti_driver_cbid.h>

namespace roofmark::meter {
namespace {

// Records grow at their end; what we read of them must stay where it is.
using RealKernel = CUpti_ActivityKernel10;
using RealMemcpy = CUpti_ActivityMemcpy6;
using RealMemset = CUpti_ActivityMemset4;

#define SAME_OFFSET(Ours, ours, Real, real) \
  static_assert(offsetof(Ours, ours) == offsetof(Real, real), #ours)

SAME_OFFSET(cupti::ActivityKernel, kind, RealKernel, kind);
SAME_OFFSET(cupti::ActivityKernel, start, RealKernel, start);
SAME_OFFSET(cupti::ActivityKernel, end, RealKernel, end);
SAME_OFFSET(cupti::ActivityKernel, stream_id, RealKernel, streamId);
SAME_OFFSET(cupti::ActivityKernel, correlation_id, RealKernel, correlationId);
SAME_OFFSET(cupti::ActivityKernel, name, RealKernel, name);
SAME_OFFSET(cupti::ActivityMemcpy, copy_kind, RealMemcpy, copyKind);
SAME_OFFSET(cupti::ActivityMemcpy, bytes, RealMemcpy, bytes);
SAME_OFFSET(cupti::ActivityMemcpy, start, RealMemcpy, start);
SAME_OFFSET(cupti::ActivityMemcpy, end, RealMemcpy, end);
SAME_OFFSET(cupti::ActivityMemcpy, stream_id, RealMemcpy, streamId);
SAME_OFFSET(cupti::ActivityMemset, bytes, RealMemset, bytes);
SAME_OFFSET(cupti::ActivityMemset, start, RealMemset, start);
SAME_OFFSET(cupti::ActivityMemset, end, RealMemset, end);
SAME_OFFSET(cupti::ActivityMemset, stream_id, RealMemset, streamId);
SAME_OFFSET(cupti::ResourceData, descriptor, CUpti_ResourceData, resourceDescriptor);
SAME_OFFSET(cupti::ApiData, site, CUpti_CallbackData, callbackSite);
SAME_OFFSET(cupti::ApiData, function, CUpti_CallbackData, functionName);
SAME_OFFSET(cupti::ModuleData, cubin_size, CUpti_ModuleResourceData, cubinSize);
SAME_OFFSET(cupti::ModuleData, cubin, CUpti_ModuleResourceData, pCubin);

static_assert(cupti::kKindMemcpy == CUPTI_ACTIVITY_KIND_MEMCPY);
static_assert(cupti::kKindMemset == CUPTI_ACTIVITY_KIND_MEMSET);
static_assert(cupti::kKindConcurrentKernel == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
static_assert(cupti::kKindMemcpyPeer == CUPTI_ACTIVITY_KIND_MEMCPY2);
static_assert(cupti::kDomainDriver == CUPTI_CB_DOMAIN_DRIVER_API);
static_assert(cupti::kDomainRuntime == CUPTI_CB_DOMAIN_RUNTIME_API);
static_assert(cupti::kConditionalHandleCreate ==
              CUPTI_DRIVER_TRACE_CBID_cuGraphConditionalHandleCreate);
static_assert(cupti::kDeviceToDevice == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD);
static_assert(cupti::kApiEnter == CUPTI_API_ENTER);
static_assert(cupti::kDomainResource == CUPTI_CB_DOMAIN_RESOURCE);
static_assert(cupti::kModuleLoaded == CUPTI_CBID_RESOURCE_MODULE_LOADED);
static_assert(cupti::kFlushForced == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);

TEST(CuptiDeclarations, AreThoseOfTheInstalledHeaders) {
  SUCCEED() << "compared when this was compiled, with CUPTI " << CUPTI_API_VERSION;
}

}  // namespace
}  // namespace roofmark::meter
#else
TEST(CuptiDeclarations, AreThoseOfTheInstalledHeaders) {
  GTEST_SKIP() << "no CUPTI headers are installed here";
}
#endif
