// SPDX-License-Identifier: Apache-2.0
#include "meter/meter.h"

#include <dlfcn.h>
#include <unistd.h>

#include <filesystem>

#include "base/files.h"
#include "base/json.h"
#include "base/testing.h"
#include "meter/loader_trace.h"
#include "meter/worker_api.h"

namespace roofmark::meter {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

TEST(Testimony, ListsOfManyModulesOnlyThoseThatRan) {
  Testimony testimony;
  testimony.modules.resize(65, {.sha256 = "aa", .loader = "/a.so", .bytes = 1});
  testimony.modules[1] = {.sha256 = "bb", .loader = "/b.so", .callers = {"/b.so"}, .bytes = 2};
  testimony.module_count = 65;
  testimony.names = {"memset", "kernel"};
  testimony.name_modules = {{}, {1}};
  testimony.operations = {{.kind = OperationKind::kKernel,
                           .name = 1,
                           .start_ns = 10,
                           .end_ns = 20,
                           .stream = 7,
                           .correlation = 3,
                           .bytes = 4096}};
  const auto json = Json::Parse(TestimonyToJson(testimony));
  ASSERT_THAT(json, IsOk());
  ASSERT_EQ((*json->ArrayAt("modules"))->array().size(), 1U);
  EXPECT_EQ(*(*json->ArrayAt("modules"))->array()[0].String("sha256"), "bb");
  const Json& name = (*json->ArrayAt("names"))->array()[1];
  EXPECT_EQ((*name.ArrayAt("modules"))->array()[0].as_int(), 0);
  EXPECT_EQ((*json->ArrayAt("operations"))->array()[0].Dump(), "[0, 1, 10, 20, 7, 3, 4096]");
}

TEST(Testimony, ListsAllOfFewModules) {
  Testimony testimony;
  testimony.modules = {{.sha256 = "aa"}, {.sha256 = "bb"}};
  const auto json = Json::Parse(TestimonyToJson(testimony));
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ((*json->ArrayAt("modules"))->array().size(), 2U);
}

TEST(Testimony, ListsEveryModuleThatTheCandidateBrought) {
  Testimony testimony;
  testimony.modules.resize(65, {.sha256 = "aa", .loader = "/a.so"});
  testimony.modules[3] = {.sha256 = "bb", .loader = "/candidate/c.so", .brought = true};
  const auto json = Json::Parse(TestimonyToJson(testimony));
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ((*json->ArrayAt("modules"))->array().size(), 1U);
}

TEST(Testimony, ListsEveryModuleThatMayHoldKernelsOfOtherNames) {
  Testimony testimony;
  testimony.modules.resize(65, {.sha256 = "aa", .loader = "/a.so"});
  testimony.modules[64] = {.sha256 = "bb", .unreadable = true};
  const auto json = Json::Parse(TestimonyToJson(testimony));
  ASSERT_THAT(json, IsOk());
  const auto& modules = (*json->ArrayAt("modules"))->array();
  ASSERT_EQ(modules.size(), 1U);
  EXPECT_EQ(*modules[0].String("sha256"), "bb");
  EXPECT_TRUE(*modules[0].Bool("unreadable"));
}

TEST(Watched, BecomesJsonByFunctionWithTheStacksOfLaunches) {
  const auto json = Json::Parse(
      WatchedToJson({.fault = "",
                     .calls = {{"cuLaunchKernel", 3}, {"cuMemAlloc_v2", 1}},
                     .stacks = {{"libcublas.so.13:cublasGemmEx", "candidate.so:run"}, {"a.so:"}}}));
  ASSERT_THAT(json, IsOk());
  EXPECT_EQ(json->Dump(),
            R"({"fault": "", "calls": {"cuLaunchKernel": 3, "cuMemAlloc_v2": 1}, )"
            R"("stacks": [["libcublas.so.13:cublasGemmEx", "candidate.so:run"], ["a.so:"]]})");
}

TEST(Testimony, KeepsItsJsonWholeWhateverANameHolds) {
  Testimony testimony;
  testimony.names = {"quote \" backslash \\ newline \n byte \xff"};
  testimony.name_modules = {{}};
  const auto json = Json::Parse(TestimonyToJson(testimony));
  ASSERT_THAT(json, IsOk());
  EXPECT_THAT(*(*json->ArrayAt("names"))->array()[0].String("name"), HasSubstr("quote \" back"));
}

TEST(LoaderTrace, LooksThroughWhatStandsBetweenProgramAndDriver) {
  EXPECT_TRUE(IsPlumbing("/usr/lib/x86_64-linux-gnu/libcuda.so.1"));
  EXPECT_TRUE(IsPlumbing("/x/libcudart.so.13"));
  EXPECT_TRUE(IsPlumbing("/x/libcupti.so.13"));
  EXPECT_TRUE(IsPlumbing("/x/libroofmark_meter.so"));
  EXPECT_FALSE(IsPlumbing("/x/libcublasLt.so.13"));
  EXPECT_FALSE(IsPlumbing("/x/libcudnn.so.9"));
  EXPECT_FALSE(IsPlumbing("/candidate/candidate.so"));
}

TEST(LoaderTrace, FindsThisProgramOnItsOwnStack) {
  const auto objects = CallingObjects(4);
  ASSERT_FALSE(objects.empty());
  EXPECT_THAT(objects[0], HasSubstr("meter_test"));
}

TEST(LoaderTrace, SeesNoPlumbingInWhatTheProgramMayHaveWritten) {
  for (const char* path : {"./libcudart-12.so", "x/libcuda.so.1", "/scratch/libcuda.so.1",
                           "/tmp/none/libc.so.6", "/memfd:libcupti.so", "/proc/self/fd/libcuda.so",
                           "/candidate/libcuda.so.1", "/usr/lib/libcuda.so (deleted)"}) {
    EXPECT_FALSE(IsPlumbing(path)) << path;
    EXPECT_TRUE(ProgramMayWrite(path)) << path;
  }
  EXPECT_FALSE(ProgramMayWrite("roofmark"));
  EXPECT_FALSE(ProgramMayWrite("/usr/lib/libtorch_cuda.so"));
}

// A library that was opened by a relative path, under a name of somebody else's.
TEST(LoaderTrace, KnowsTheWholePathOfALibraryThatWasOpenedByARelativeOne) {
  namespace fs = std::filesystem;
  EXPECT_EQ(MappedFile(nullptr), "");
  const std::string real = MappedFile(reinterpret_cast<const void*>(&::getpid));
  ASSERT_THAT(real, StartsWith("/"));
  const TempDir folder = TempDir::Make("loader").value();
  fs::copy_file(fs::path(real).parent_path() / "libm.so.6", folder.path() / "libtorch_cuda.so");
  fs::create_symlink("libtorch_cuda.so", folder.path() / "libother.so");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  for (const char* name : {"./libtorch_cuda.so", "./libother.so"}) {
    void* const opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(opened, nullptr) << ::dlerror();
    const void* const inside = ::dlsym(opened, "feclearexcept");
    EXPECT_EQ(MappedFile(inside), fs::canonical(folder.path() / "libtorch_cuda.so"));
    ::dlclose(opened);
  }
  fs::current_path(before);
}

TEST(LoaderTrace, NamesFunctionsByTheirFile) {
  const auto functions = CallingFunctions(4);
  ASSERT_FALSE(functions.empty());
  EXPECT_LE(functions.size(), 4U);
  EXPECT_THAT(functions[0], StartsWith("meter_test:"));
}

TEST(WorkerApi, SaysWhatIsMissingWithoutADriver) {
  if (roofmark_cuda_open() == 0) GTEST_SKIP() << "this machine has a GPU";
  EXPECT_THAT(roofmark_error(), HasSubstr("libcuda.so.1"));
  EXPECT_NE(roofmark_stage_before(), 0);
  EXPECT_THAT(roofmark_error(), HasSubstr("not open"));
}

TEST(WorkerApi, DrainsAnEmptyTestimonyWithoutADriver) {
  roofmark_meter_start();
  const auto json = Json::Parse(roofmark_meter_drain());
  ASSERT_THAT(json, IsOk());
  EXPECT_THAT((*json->ArrayAt("operations"))->array(), IsEmpty());
}

}  // namespace
}  // namespace roofmark::meter
