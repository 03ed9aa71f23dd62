// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_stage.h"

#include <algorithm>

#include "base/testing.h"

namespace roofmark::device {
namespace {

using testing::ElementsAre;

// A driver that notes what is queued, in order, and has one access policy for all streams.
struct Driver {
  std::vector<std::string> queued;
  std::vector<std::string> kernels;  // by function
  cu::AccessPolicyWindow policy;
  cu::Status tells = cu::kSuccess;    // of the stream's attributes
  cu::Status records = cu::kSuccess;  // of an event for a context
  uint32_t memory[4096] = {};
  int policies_met = 0;  // flushes launched with a policy
};
Driver driver;

CudaApi MemoryApi() {
  driver = {};
  CudaApi api;
  api.get_error_name = [](cu::Status, const char** name) {
    *name = "CUDA_ERROR";
    return cu::kSuccess;
  };
  api.get_error_string = api.get_error_name;
  api.device_get = [](cu::Device*, int) { return cu::kSuccess; };
  api.device_get_attribute = [](int* value, int, cu::Device) {
    *value = 4;
    return cu::kSuccess;
  };
  api.mem_alloc = [](cu::Pointer* at, size_t) {
    *at = 4096;
    return cu::kSuccess;
  };
  api.mem_free = [](cu::Pointer) { return cu::kSuccess; };
  api.memset_d8_async = [](cu::Pointer, unsigned char, size_t, cu::Stream) { return cu::kSuccess; };
  api.mem_host_alloc = [](void** memory, size_t, unsigned) {
    *memory = driver.memory;
    return cu::kSuccess;
  };
  api.mem_free_host = [](void*) { return cu::kSuccess; };
  api.mem_host_get_device_pointer = [](cu::Pointer*, void*, unsigned) { return cu::kSuccess; };
  api.module_load_data = [](cu::Module*, const void*) { return cu::kSuccess; };
  api.module_unload = [](cu::Module) { return cu::kSuccess; };
  api.module_get_function = [](cu::Function* function, cu::Module, const char* name) {
    driver.kernels.emplace_back(name);
    *function = reinterpret_cast<cu::Function>(driver.kernels.size());
    return cu::kSuccess;
  };
  api.func_set_attribute = [](cu::Function, int, int) { return cu::kSuccess; };
  return api;
}

CudaApi FakeApi() {
  CudaApi api = MemoryApi();
  api.launch_kernel = [](cu::Function function, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, cu::Stream, void**, void**) {
    const std::string& name = driver.kernels[reinterpret_cast<size_t>(function) - 1];
    if (name == kStageFlush && driver.policy.bytes != 0) ++driver.policies_met;
    driver.queued.push_back(name.substr(name.rfind('_') + 1));
    return cu::kSuccess;
  };
  api.ctx_get_current = [](cu::Context*) { return cu::kSuccess; };
  api.ctx_synchronize = [] {
    driver.queued.emplace_back("synchronize");
    return cu::kSuccess;
  };
  api.ctx_record_event = [](cu::Context, cu::Event) {
    driver.queued.emplace_back("record all");
    return driver.records;
  };
  api.ctx_set_limit = [](int, size_t) { return cu::kSuccess; };
  api.ctx_get_limit = [](size_t*, int) { return cu::kSuccess; };
  api.ctx_reset_persisting_l2 = [] { return cu::kSuccess; };
  api.stream_create = [](cu::Stream*, unsigned) { return cu::kSuccess; };
  api.stream_destroy = [](cu::Stream) { return cu::kSuccess; };
  api.stream_wait_event = [](cu::Stream, cu::Event, unsigned) {
    driver.queued.emplace_back("wait");
    return cu::kSuccess;
  };
  api.stream_get_attribute = [](cu::Stream, int, cu::StreamAttribute* value) {
    value->window = driver.policy;
    return driver.tells;
  };
  api.stream_set_attribute = [](cu::Stream, int, const cu::StreamAttribute* value) {
    driver.policy = value->window;
    return cu::kSuccess;
  };
  api.event_create = [](cu::Event*, unsigned) { return cu::kSuccess; };
  api.event_destroy = [](cu::Event) { return cu::kSuccess; };
  api.event_record = [](cu::Event, cu::Stream) {
    driver.queued.emplace_back("event");
    return cu::kSuccess;
  };
  api.event_elapsed_ms = [](float* ms, cu::Event, cu::Event) {
    *ms = 0.002F;
    return cu::kSuccess;
  };
  return api;
}

class CudaStageTest : public testing::Test {
 protected:
  void Open(const CudaApi& api) {
    auto stage = CudaStage::Load(api, "cubin", 1 << 20);
    ASSERT_THAT(stage, IsOk());
    stage_ = std::move(*stage);
    driver.queued.clear();
  }
  // A batch of one call, which does what it is told.
  Json Batch(const std::function<void()>& call) {
    EXPECT_THAT(stage_->Begin(nullptr, 1, 1000), IsOk());
    EXPECT_THAT(stage_->BeforeCall(), IsOk());
    call();
    EXPECT_THAT(stage_->AfterCall(), IsOk());
    EXPECT_THAT(stage_->End(), IsOk());
    EXPECT_THAT(stage_->Go(), IsOk());
    auto findings = stage_->Findings();
    EXPECT_THAT(findings, IsOk());
    return *findings;
  }

  CudaApi api_ = FakeApi();
  std::unique_ptr<CudaStage> stage_;
};

TEST_F(CudaStageTest, QueuesMarksAndEventsAroundACallBetweenFlushes) {
  Open(api_);
  const Json found = Batch([] { driver.queued.emplace_back("CALL"); });
  EXPECT_THAT(driver.queued, ElementsAre("hold", "flush", "mark", "event", "CALL", "event", "mark",
                                         "flush", "synchronize"));
  EXPECT_EQ(*found.Int("policies"), 0);
  EXPECT_TRUE((*found.ArrayAt("joined_ns"))->array().empty());
}

TEST_F(CudaStageTest, TakesAnAccessPolicyOffTheStreamAheadOfEachFlushAndTellsOfIt) {
  Open(api_);
  driver.policy.bytes = 4096;
  const Json found = Batch([] { driver.policy.bytes = 8192; });
  EXPECT_EQ(driver.policies_met, 0);
  EXPECT_EQ(*found.Int("policies"), 2);
  EXPECT_EQ(*Batch([] {}).Int("policies"), 0);
}

TEST_F(CudaStageTest, ACallMayHaveAnAccessPolicyThatItTakesBack) {
  Open(api_);
  const Json found = Batch([] {
    driver.policy.bytes = 4096;
    driver.policy.bytes = 0;
  });
  EXPECT_EQ(*found.Int("policies"), 0);
}

TEST_F(CudaStageTest, GoesOnWhereAStreamTellsNoAttributesAndSaysSo) {
  driver.tells = 1;
  Open(api_);
  EXPECT_EQ(*Batch([] {}).Int("policies"), -1);
}

TEST_F(CudaStageTest, WaitsForTheWholeContextBehindACallWhenTold) {
  Open(api_);
  stage_->JoinContext(true);
  const Json found = Batch([] { driver.queued.emplace_back("CALL"); });
  EXPECT_THAT(driver.queued,
              ElementsAre("hold", "flush", "mark", "event", "CALL", "event", "record all", "wait",
                          "event", "mark", "flush", "synchronize"));
  ASSERT_EQ((*found.ArrayAt("joined_ns"))->array().size(), 1U);
  EXPECT_NEAR((*found.ArrayAt("joined_ns"))->array()[0].as_double(), 2'000, 1);
  const auto times = stage_->EventTimes();
  ASSERT_THAT(times, IsOk());
  EXPECT_EQ(times->size(), 1U);
}

TEST_F(CudaStageTest, WaitsItselfWhereTheDriverCannot) {
  api_.ctx_record_event = nullptr;
  Open(api_);
  stage_->JoinContext(true);
  Batch([] { driver.queued.emplace_back("CALL"); });
  EXPECT_EQ(std::ranges::count(driver.queued, "synchronize"), 2);
}

TEST_F(CudaStageTest, WaitsItselfWhereTheDriverWillNot) {
  driver.records = 801;
  Open(api_);
  stage_->JoinContext(true);
  Batch([] { driver.queued.emplace_back("CALL"); });
  EXPECT_EQ(std::ranges::count(driver.queued, "wait"), 0);
  EXPECT_EQ(std::ranges::count(driver.queued, "synchronize"), 2);
}

}  // namespace
}  // namespace roofmark::device
