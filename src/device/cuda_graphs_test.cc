// SPDX-License-Identifier: Apache-2.0
#include "device/cuda_graphs.h"

#include "base/testing.h"

namespace roofmark::device {
namespace {

// A driver that counts what is made and destroyed, and fails where the test wants.
struct Driver {
  cu::Status end = cu::kSuccess;
  size_t nodes = 1;
  int graphs = 0;
  int executables = 0;
  int launches = 0;
  bool capturing = false;
};
Driver driver;

CudaApi FakeApi() {
  driver = {};
  CudaApi api;
  api.get_error_name = [](cu::Status, const char** name) {
    *name = "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED";
    return cu::kSuccess;
  };
  api.get_error_string = [](cu::Status, const char** text) {
    *text = "operation failed due to a previous error during capture";
    return cu::kSuccess;
  };
  api.stream_begin_capture = [](cu::Stream, int) {
    driver.capturing = true;
    return cu::kSuccess;
  };
  api.stream_end_capture = [](cu::Stream, cu::Graph* graph) {
    driver.capturing = false;
    if (driver.end == cu::kSuccess) {
      ++driver.graphs;
      *graph = reinterpret_cast<cu::Graph>(&driver);
    }
    return driver.end;
  };
  api.graph_get_nodes = [](cu::Graph, cu::GraphNode*, size_t* count) {
    *count = driver.nodes;
    return cu::kSuccess;
  };
  api.graph_instantiate = [](cu::GraphExec* made, cu::Graph, unsigned long long) {
    ++driver.executables;
    *made = reinterpret_cast<cu::GraphExec>(&driver);
    return cu::kSuccess;
  };
  api.graph_launch = [](cu::GraphExec, cu::Stream) {
    ++driver.launches;
    return cu::kSuccess;
  };
  api.graph_destroy = [](cu::Graph) {
    --driver.graphs;
    return cu::kSuccess;
  };
  api.graph_exec_destroy = [](cu::GraphExec) {
    --driver.executables;
    return cu::kSuccess;
  };
  return api;
}

Result<void> Fine() {
  return {};
}

TEST(CudaGraphs, CaptureOnceAndLaunchOften) {
  {
    CudaGraphs graphs(FakeApi());
    EXPECT_FALSE(graphs.Has("a"));
    ASSERT_THAT(graphs.Capture("a", nullptr, Fine), IsOk());
    EXPECT_TRUE(graphs.Has("a"));
    EXPECT_THAT(graphs.Launch("a", nullptr), IsOk());
    EXPECT_THAT(graphs.Launch("a", nullptr), IsOk());
  }
  EXPECT_EQ(driver.launches, 2);
  EXPECT_EQ(driver.graphs, 0);
  EXPECT_EQ(driver.executables, 0);
}

TEST(CudaGraphs, SayWhyACallCannotBeCapturedAndLeaveTheCapture) {
  CudaGraphs graphs(FakeApi());
  driver.end = 901;
  EXPECT_THAT(graphs.Capture("a", nullptr, Fine),
              HasError(ErrorKind::kInput, "CAPTURE_INVALIDATED"));
  driver.end = cu::kSuccess;
  EXPECT_THAT(graphs.Capture("a", nullptr, [] { return Fail(ErrorKind::kInput, "run gave 7"); }),
              HasError(ErrorKind::kInput, "run gave 7"));
  EXPECT_FALSE(driver.capturing);
  EXPECT_FALSE(graphs.Has("a"));
  EXPECT_EQ(driver.graphs, 0);
}

TEST(CudaGraphs, RefuseACallThatQueuesNothing) {
  CudaGraphs graphs(FakeApi());
  driver.nodes = 0;
  EXPECT_THAT(graphs.Capture("a", nullptr, Fine), HasError(ErrorKind::kInput, "queues nothing"));
}

}  // namespace
}  // namespace roofmark::device
