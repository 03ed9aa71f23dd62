// SPDX-License-Identifier: Apache-2.0
#include "gate/cuda_provenance.h"

#include <filesystem>

#include "base/files.h"
#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The owner of one kernel whose name occurs in modules from the given loaders.
Owner OwnerFrom(const std::string& kernel, const std::vector<MeteredModule>& modules,
                const Provenance& provenance) {
  MeterReport report{.modules = modules, .names = {{.name = kernel}}};
  for (size_t i = 0; i < modules.size(); ++i) report.names[0].modules.push_back(i);
  return OwnerOf(report, {.kind = MeteredKind::kKernel}, provenance);
}

// The loaders are as the meter found them on an H200 with PyTorch 2.11 and Triton 3.6.
constexpr const char* kTorch =
    "/opt/torch/.venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so";
constexpr const char* kTorchPython =
    "/opt/torch/.venv/lib/python3.12/site-packages/torch/lib/libtorch_python.so";
constexpr const char* kCublas =
    "/opt/torch/.venv/lib/python3.12/site-packages/nvidia/cu13/lib/libcublasLt.so.13";
constexpr const char* kCudnn =
    "/opt/torch/.venv/lib/python3.12/site-packages/nvidia/cudnn/lib/"
    "libcudnn_engines_runtime_compiled.so.9";
constexpr const char* kTriton = "/scratch/.triton/XU5D/cuda_utils.cpython-312-x86_64-linux-gnu.so";

TEST(Provenance, TheJudgesOwnCubinIsTheCandidates) {
  const Provenance provenance{.lane = Lane::kCuda, .own_code = {"aa"}};
  EXPECT_EQ(OwnerFrom("k", {{.sha256 = "aa", .loader = "/candidate/c.so"}}, provenance),
            Owner::kOwn);
}

TEST(Provenance, OtherCodeFromTheCandidatesLibraryWasBuiltElsewhere) {
  const Provenance provenance{.lane = Lane::kCuda, .own_code = {"aa"}};
  for (const char* loader : {"/candidate/c.so", "/scratch/unpacked.so"}) {
    EXPECT_EQ(OwnerFrom("k", {{.sha256 = "bb", .loader = loader}}, provenance), Owner::kPrebuilt);
  }
}

TEST(Provenance, AnImageThatPythonHandsToTheDriverWasBuiltElsewhere) {
  const Provenance provenance{.lane = Lane::kTriton, .jit_kernels = {"k"}};
  EXPECT_EQ(OwnerFrom("k", {{.loader = "/usr/lib/x86_64-linux-gnu/libffi.so.8"}}, provenance),
            Owner::kPrebuilt);
}

TEST(Provenance, ANameThatAlsoOccursInForeignCodeProvesNothing) {
  const Provenance provenance{.lane = Lane::kCuda, .own_code = {"aa"}};
  EXPECT_EQ(OwnerFrom("gemm",
                      {{.sha256 = "aa", .loader = "/candidate/c.so"},
                       {.sha256 = "bb", .loader = kCublas}},
                      provenance),
            Owner::kUnknown);
}

TEST(Provenance, TellsVendorFrameworkAndCompilerByTheirLoaders) {
  const Provenance provenance{.lane = Lane::kTorch};
  EXPECT_EQ(OwnerFrom("nvjet_sm90_tst", {{.loader = kCublas}}, provenance), Owner::kVendor);
  EXPECT_EQ(OwnerFrom("cudnn_generated", {{.loader = kCudnn}}, provenance), Owner::kVendor);
  EXPECT_EQ(OwnerFrom("_ZN2at6native", {{.loader = kTorch}}, provenance), Owner::kFramework);
  EXPECT_EQ(OwnerFrom("triton_per_fused_sum_0", {{.loader = kTorchPython}}, provenance),
            Owner::kCompiler);
  EXPECT_EQ(OwnerFrom("triton_poi_fused_0", {{.loader = kTriton}}, provenance), Owner::kCompiler);
}

// As an H200 reported what torch.zeros(n) runs.
constexpr const char* kFill =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_"
    "T1_";

TEST(Provenance, TheFrameworksFillsAreHelpersLikeMemset) {
  const Provenance provenance{.lane = Lane::kTriton};
  EXPECT_EQ(OwnerFrom(kFill, {{.loader = kTorch}}, provenance), Owner::kRuntime);
}

TEST(Provenance, AFillOfSomebodyElseIsNoHelper) {
  const Provenance provenance{.lane = Lane::kTriton};
  EXPECT_EQ(OwnerFrom(kFill, {{.loader = "/scratch/libtorch_cuda.so"}}, provenance),
            Owner::kFramework);
  EXPECT_EQ(OwnerFrom(kFill, {{.loader = "/scratch/build/ext.so"}}, provenance), Owner::kPrebuilt);
  EXPECT_EQ(OwnerFrom(kFill, {{.loader = kTorch}, {.loader = "/scratch/mine.so"}}, provenance),
            Owner::kUnknown);
}

TEST(Provenance, ATritonKernelIsTheCandidatesWhenItsSourceDefinesIt) {
  const Provenance provenance{.lane = Lane::kTriton, .jit_kernels = {"rms_norm_kernel"}};
  EXPECT_EQ(OwnerFrom("rms_norm_kernel", {{.loader = kTriton}}, provenance), Owner::kDsl);
  EXPECT_EQ(OwnerFrom("smuggled_kernel", {{.loader = kTriton}}, provenance), Owner::kUnknown);
}

TEST(Provenance, AVendorKernelInACopiedLibraryIsStillTheVendors) {
  const Provenance provenance{.lane = Lane::kTorch};
  EXPECT_EQ(OwnerFrom("nvjet_sm90_tst", {{.loader = "/scratch/mine.so"}}, provenance),
            Owner::kVendor);
}

TEST(Provenance, AnExtensionBuiltInTheWorkerIsItsOwnWhenItsSourceDefinesTheKernel) {
  const Provenance provenance{
      .lane = Lane::kTorch,
      .extensions = {{.library = ".torch_extensions/x.so", .kernels = {"scale"}}},
      .stage = "/var/tmp/stage"};
  for (const char* extension :
       {"/scratch/.torch_extensions/x.so", "/var/tmp/stage/scratch/.torch_extensions/x.so"}) {
    EXPECT_EQ(OwnerFrom("_Z5scalePfi", {{.loader = extension}}, provenance), Owner::kOwn);
    EXPECT_EQ(OwnerFrom("scale", {{.loader = extension}}, provenance), Owner::kOwn);
    EXPECT_EQ(OwnerFrom("_Z4gemmPfi", {{.loader = extension}}, provenance), Owner::kPrebuilt);
  }
  for (const char* other : {"/scratch/x.so", "/tmp/.torch_extensions/x.so", "/candidate/x.so"}) {
    EXPECT_EQ(OwnerFrom("scale", {{.loader = other}}, provenance), Owner::kPrebuilt) << other;
  }
}

TEST(Provenance, ALibraryWhosePlaceIsNotKnownMayBeTheCandidates) {
  const Provenance provenance{.lane = Lane::kCuda, .stage = "/var/tmp/stage"};
  for (const char* loader :
       {"./libtorch_cuda.so", "x/libtorch_cuda.so", "/proc/7/cwd/libtorch_cuda.so",
        "/proc/thread-self/root/tmp/libtorch_cuda.so", "/dev/fd/3", "/opt/../tmp/libtorch_cuda.so",
        "/opt/libtorch_cuda.so (deleted)", "/var/tmp/stage/scratch/libtorch_cuda.so",
        "/memfd:libtorch_cuda.so"}) {
    EXPECT_TRUE(MayBeCandidates(loader, provenance)) << loader;
    EXPECT_NE(OwnerFrom(kFill, {{.loader = loader}}, provenance), Owner::kRuntime) << loader;
  }
  EXPECT_FALSE(MayBeCandidates(kTorch, provenance));
  EXPECT_FALSE(MayBeCandidates("roofmark", provenance));
  EXPECT_EQ(OwnerFrom(kFill, {{.loader = "libtorch_cuda.so"}}, provenance), Owner::kFramework);
  EXPECT_EQ(OwnerFrom("k", {{.loader = "./mine.so"}}, provenance), Owner::kPrebuilt);
}

TEST(Provenance, NoNameTellsWhoRanWhereAModuleHidesItsKernels) {
  const Provenance provenance{.lane = Lane::kCuda, .own_code = {"aa"}};
  const MeteredModule own{.sha256 = "aa", .loader = "/candidate/c.so"};
  // The owner of a kernel of the judge's compilation while this module is loaded as well.
  const auto beside = [&](MeteredModule other) {
    other.unreadable = true;
    const MeterReport report{.modules = {own, other}, .names = {{.name = "k", .modules = {0}}}};
    return OwnerOf(report, {.kind = MeteredKind::kKernel}, provenance);
  };
  for (const char* loader : {"/candidate/c.so", "/scratch/x.so", "./x.so", "",
                             "/usr/lib/libffi.so.8", "/scratch/libcublas.so.13"}) {
    EXPECT_EQ(beside({.sha256 = "bb", .loader = loader}), Owner::kUnknown) << loader;
  }
  for (const char* loader : {kTorch, kCublas, "roofmark"}) {
    EXPECT_EQ(beside({.sha256 = "bb", .loader = loader}), Owner::kOwn) << loader;
  }
  EXPECT_EQ(beside(own), Owner::kOwn);
}

TEST(Provenance, AKernelThatAnotherCompilerGeneratedIsNotTheCandidatesByItsName) {
  const Provenance provenance{.lane = Lane::kTriton,
                              .jit_kernels = {"triton_poi_fused_mul_0", "mine"},
                              .generated_kernels = {"triton_poi_fused_mul_0"}};
  EXPECT_EQ(OwnerFrom("triton_poi_fused_mul_0", {{.loader = kTorchPython}}, provenance),
            Owner::kCompiler);
  EXPECT_EQ(OwnerFrom("mine", {{.loader = kTriton}}, provenance), Owner::kDsl);
}

TEST(GeneratedKernels, AreThoseOfPythonFilesInTheScratchFolder) {
  const TempDir scratch = TempDir::Make("generated").value();
  std::filesystem::create_directories(scratch.path() / "torchinductor/ab");
  ASSERT_THAT(WriteFile(scratch.path() / "torchinductor/ab/cab.py",
                        "@triton.jit\ndef triton_poi_fused_0(x): pass\n"
                        "@triton.jit\ndef mine_in_a_compiled_function(x): pass\n"),
              IsOk());
  ASSERT_THAT(WriteFile(scratch.path() / "notes.txt", "@triton.jit\ndef other(x): pass\n"), IsOk());
  EXPECT_THAT(GeneratedKernels(scratch.path()), ElementsAre("triton_poi_fused_0"));
  EXPECT_THAT(GeneratedKernels(scratch.path() / "missing"), IsEmpty());
}

TEST(Provenance, CopiesAndFillsAreTheRuntimes) {
  const MeterReport report{.names = {{.name = "memset"}}};
  EXPECT_EQ(OwnerOf(report, {.kind = MeteredKind::kMemset}, {}), Owner::kRuntime);
}

TEST(Provenance, KernelsOfNoModuleAreUnknown) {
  EXPECT_EQ(OwnerFrom("k", {}, {}), Owner::kUnknown);
}

TEST(JitKernels, AreTheDecoratedFunctions) {
  EXPECT_THAT(JitKernelNames(R"py(
import triton
@triton.autotune(configs=[], key=["n"])
@triton.jit
def first_kernel(x, n):
    pass
@triton.jit(do_not_specialize=["n"])
def second(x): pass
def host(x):
    pass
@jit
def third(
    x,
):
    pass
)py"),
              ElementsAre("first_kernel", "second", "third"));
}

TEST(JitKernels, OfTheCuteDslAndTileLangHaveMarksOfTheirOwn) {
  constexpr const char* kText =
      "@cute.kernel\ndef gate(x): pass\n@T.prim_func\ndef main(x): pass\n";
  EXPECT_THAT(JitKernelNames(kText, Lane::kCuteDsl), ElementsAre("gate"));
  EXPECT_THAT(JitKernelNames(kText, Lane::kTileLang), ElementsAre("main"));
  EXPECT_THAT(JitKernelNames(kText), IsEmpty());
}

TEST(Provenance, KernelsOfTheCuteDslAndTileLangAreKnownByWhatTheirCompilersCallThem) {
  const Provenance cute{.lane = Lane::kCuteDsl, .jit_kernels = {"gate"}};
  constexpr const char* kCuteLoader = "/x/nvidia_cutlass_dsl/cu12/lib/libcute_dsl_runtime.so";
  EXPECT_EQ(OwnerFrom("kernel_gate_0", {{.loader = kCuteLoader}}, cute), Owner::kDsl);
  EXPECT_EQ(OwnerFrom("kernel_cutlass_gate_tensorptrbf16_0", {{.loader = kCuteLoader}}, cute),
            Owner::kDsl);
  EXPECT_EQ(OwnerFrom("kernel_gater_0", {{.loader = kCuteLoader}}, cute), Owner::kUnknown);
  EXPECT_EQ(OwnerFrom("kernel_gate_0", {{.loader = kTorch}}, cute), Owner::kFramework);

  const Provenance tile{.lane = Lane::kTileLang, .jit_kernels = {"main"}};
  for (const char* kernel : {"main_kernel", "main_kernel_1"}) {
    EXPECT_EQ(OwnerFrom(kernel, {{.loader = "/scratch/.cache/k.so"}}, tile), Owner::kDsl);
  }
  for (const char* kernel : {"main_kernel_", "main_kernels", "other_kernel", "main"}) {
    EXPECT_EQ(OwnerFrom(kernel, {{.loader = "/scratch/.cache/k.so"}}, tile), Owner::kPrebuilt);
  }
}

TEST(JitKernels, AreNotFunctionsWithOtherDecorators) {
  EXPECT_THAT(JitKernelNames("@torch.compile\ndef run(x):\n  pass\n@jitter\ndef f(): pass\n"),
              IsEmpty());
}

}  // namespace
}  // namespace roofmark::gate
