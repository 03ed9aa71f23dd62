// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"
#include "base/subprocess.h"
#include "base/testing.h"
#include "candidate/build.h"
#include "candidate/vendor.h"

namespace roofmark::candidate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

class CandidateTest : public ::testing::Test {
 protected:
  fs::path Write(const std::string& name, std::string_view text) {
    EXPECT_THAT(WriteFile(folder_.path() / name, text), IsOk());
    return folder_.path() / name;
  }
  TempDir folder_ = std::move(TempDir::Make("roofmark-test")).value();
};

using ReadCandidateTest = CandidateTest;
using VendorTest = CandidateTest;

TEST_F(ReadCandidateTest, TakesTheLaneFromExtensionAndImports) {
  EXPECT_EQ(ReadCandidate(Write("a.cc", ""))->lane, Lane::kCpp);
  EXPECT_EQ(ReadCandidate(Write("a.cu", ""))->lane, Lane::kCuda);
  EXPECT_EQ(ReadCandidate(Write("a.py", "import torch\n"))->lane, Lane::kTorch);
  EXPECT_EQ(ReadCandidate(Write("b.py", "import torch\nimport triton.language as tl\n"))->lane,
            Lane::kTriton);
  const auto lane = [&](const char* text) { return ReadCandidate(Write("d.py", text))->lane; };
  EXPECT_EQ(lane("import triton\nfrom triton.experimental import gluon\n"), Lane::kGluon);
  EXPECT_EQ(lane("import triton.experimental.gluon.language as gl\n"), Lane::kGluon);
  EXPECT_EQ(lane("import cutlass\nimport cutlass.cute as cute\n"), Lane::kCuteDsl);
  EXPECT_EQ(lane("from cutlass import cute\n"), Lane::kCuteDsl);
  EXPECT_EQ(lane("import tilelang\nimport tilelang.language as T\n"), Lane::kTileLang);
  EXPECT_EQ(lane("import flydsl.compiler as flyc\n"), Lane::kFlyDsl);
  EXPECT_EQ(ReadCandidate(Write("c.py", "# import triton\nimport tritonlike\n"))->lane,
            Lane::kTorch);
}

TEST_F(ReadCandidateTest, APythonFileCanSayThatItIsABaseline) {
  EXPECT_EQ(ReadCandidate(Write("a.py", "ROLE = \"baseline\"\n"))->role, Role::kBaseline);
  EXPECT_EQ(ReadCandidate(Write("b.py", "# ROLE = \"baseline\"\n"))->role, Role::kCandidate);
}

TEST_F(ReadCandidateTest, RefusesWhatHasNoLane) {
  EXPECT_THAT(ReadCandidate(Write("a.txt", "")), HasError(ErrorKind::kInput, "'*.txt'"));
  EXPECT_THAT(ReadCandidate(folder_.path()), HasError(ErrorKind::kInput, "no candidate.toml"));
  EXPECT_THAT(ReadCandidate(folder_.path() / "b.cc"), HasError(ErrorKind::kNotFound, "b.cc"));
}

TEST_F(ReadCandidateTest, ReadsAFolderByItsManifest) {
  Write("k/main.cu", "");
  Write("k/more.cu", "");
  Write("k/include/tile.h", "");
  Write("k/candidate.toml",
        "name = \"fast\"\nsources = [\"more.cu\", \"main.cu\"]\nentry = \"main.cu::go\"\n"
        "options = [\"-DTILE=4\"]\ninclude = [\"include\"]\nrole = \"baseline\"\n"
        "mode = \"graph\"\ndeterministic = false\n");
  const auto candidate = ReadCandidate(folder_.path() / "k");
  ASSERT_THAT(candidate, IsOk());
  EXPECT_EQ(candidate->name, "fast");
  EXPECT_EQ(candidate->lane, Lane::kCuda);
  EXPECT_EQ(candidate->role, Role::kBaseline);
  EXPECT_EQ(candidate->mode, Mode::kGraph);
  EXPECT_FALSE(candidate->deterministic);
  EXPECT_EQ(candidate->entry, "go");
  EXPECT_EQ(candidate->sources, (std::vector<fs::path>{"main.cu", "more.cu"}));
  EXPECT_EQ(candidate->content_hash.size(), 64U);
}

TEST_F(ReadCandidateTest, TheHashCoversSourcesHeadersAndOptions) {
  const auto hash = [&](const char* source, const char* header, const char* option) {
    Write("k/a.cc", source);
    Write("k/include/a.h", header);
    Write("k/candidate.toml", std::string("sources = [\"a.cc\"]\ninclude = [\"include\"]\n") +
                                  "options = [\"-D" + option + "\"]\n");
    return ReadCandidate(folder_.path() / "k")->content_hash;
  };
  const std::string first = hash("1", "2", "3");
  EXPECT_EQ(hash("1", "2", "3"), first);
  EXPECT_NE(hash("x", "2", "3"), first);
  EXPECT_NE(hash("1", "x", "3"), first);
  EXPECT_NE(hash("1", "2", "x"), first);
}

TEST_F(ReadCandidateTest, RefusesAManifestThatLeavesItsFolderOrIsUnclear) {
  Write("k/a.cc", "");
  const auto read = [&](const char* manifest) {
    Write("k/candidate.toml", manifest);
    return ReadCandidate(folder_.path() / "k");
  };
  EXPECT_THAT(read("sources = [\"../../etc/passwd\"]\n"), HasError(ErrorKind::kInput, "leaves"));
  EXPECT_THAT(read("sources = [\"/etc/passwd\"]\n"), HasError(ErrorKind::kInput, "leaves"));
  EXPECT_THAT(read("sources = [\"b.cc\"]\n"), HasError(ErrorKind::kNotFound, "b.cc"));
  EXPECT_THAT(read("name = \"x\"\n"), HasError(ErrorKind::kInput, "name the files"));
  EXPECT_THAT(read("sources = [\"a.cc\"]\ncolour = 1\n"), HasError(ErrorKind::kInput, "'colour'"));
  EXPECT_THAT(read("sources = [\"a.cc\"]\nrole = \"x\"\n"), HasError(ErrorKind::kInput, "role"));
}

TEST_F(ReadCandidateTest, RefusesOptionsThatBringInCodeOrChangeTheCompiler) {
  Write("k/a.cu", "");
  const auto read = [&](const std::string& options) {
    Write("k/candidate.toml", "sources = [\"a.cu\"]\noptions = [" + options + "]\n");
    return ReadCandidate(folder_.path() / "k");
  };
  for (const char* bad : {"\"-fplugin=x.so\"",
                          "\"@file\"",
                          "\"-include\", \"/etc/passwd\"",
                          "\"-I/usr\"",
                          "\"-lcublas\"",
                          "\"-Wl,-rpath,/x\"",
                          "\"-Xcompiler=-fplugin=x.so\"",
                          "\"-gencode=x\"",
                          "\"-o\", \"x\"",
                          "\"-Xptxas\", \"-v\"",
                          "\"-ccbin=/x\"",
                          "\"-fpass-plugin=x.so\"",
                          "\"-Xptxas=--options-file=x\"",
                          "\"--ptxas-options=--input-as-string=x\"",
                          "\"x.o\"",
                          "\"-L.\"",
                          "\"-lnorm\"",
                          "\"-l:norm.o\"",
                          "\"-Xlinker=norm.o\"",
                          "\"-Xnvlink=norm.o\""}) {
    EXPECT_THAT(read(bad), HasError(ErrorKind::kInput, "is not allowed")) << bad;
  }
  EXPECT_THAT(read("\"-DTILE=4\", \"-O2\", \"--use_fast_math\", \"-lcuda\", \"-Xptxas=-v,-O3\", "
                   "\"-Xcompiler=-fopenmp\", \"-lineinfo\""),
              IsOk());
}

TEST_F(ReadCandidateTest, RefusesSourcesThatWereCompiledElsewhere) {
  Write("k/a.cc", "");
  Write("k/a.cu", "");
  const auto read = [&](const std::string& source, const std::string& lane) {
    Write("k/candidate.toml",
          "lane = \"" + lane + "\"\nsources = [\"a.cc\", \"" + source + "\"]\n");
    return ReadCandidate(folder_.path() / "k");
  };
  for (const char* name :
       {"b.o", "b.a", "b.so", "b.so.1", "b.cubin", "b.fatbin", "b.ptx", "b.bc", "b.s", "b.S",
        "b.ld", "b", "b.O", "b.i", "b.ii", "b.gpu", "b.res", "b.cc,c.o", "b.o.cc,x"}) {
    Write(std::string("k/") + name, "");
    for (const char* lane : {"cpp", "cuda"}) {
      EXPECT_THAT(read(name, lane), HasError(ErrorKind::kInput, "is no source of lane")) << name;
    }
  }
  EXPECT_THAT(read("a.cu", "cpp"), HasError(ErrorKind::kInput, "'a.cu' is no source of lane cpp"));
  Write("k/c.h", "\177ELF\2\1\1");
  EXPECT_THAT(read("c.h", "cuda"), HasError(ErrorKind::kInput, "'c.h' is an ELF file"));
  Write("k/c.cc", "!<arch>\nx");
  EXPECT_THAT(read("c.cc", "cpp"), HasError(ErrorKind::kInput, "an archive of objects"));
}

TEST_F(ReadCandidateTest, TakesSourcesAndHeadersOfItsLane) {
  std::string list = "\"a.cu\"";
  Write("k/a.cu", "");
  for (const char* name :
       {"b.cc", "b.cpp", "b.cxx", "b.c", "c.h", "c.hh", "c.hpp", "c.cuh", "c.inl", "c.inc"}) {
    Write(std::string("k/") + name, "");
    list += std::string(", \"") + name + "\"";
  }
  Write("k/candidate.toml", "sources = [" + list + "]\n");
  const auto candidate = ReadCandidate(folder_.path() / "k");
  ASSERT_THAT(candidate, IsOk());
  const auto plan = PlanBuild(*candidate, "/candidate", "/include", "/scratch", "sm_90");
  // Of the machine, nvcc alone may be missing.
  if (!plan) {
    EXPECT_THAT(plan, HasError(ErrorKind::kNotFound, "nvcc"));
    return;
  }
  EXPECT_THAT(plan->command, Contains("/candidate/b.c"));
  EXPECT_THAT(plan->command, ::testing::Not(Contains("/candidate/c.hh")));
}

TEST_F(ReadCandidateTest, RefusesMachineCodeInIncludeFolders) {
  Write("k/a.cc", "");
  Write("k/include/a.h", "");
  Write("k/candidate.toml", "sources = [\"a.cc\"]\ninclude = [\"include\"]\n");
  const auto read = [&] { return ReadCandidate(folder_.path() / "k"); };
  EXPECT_THAT(read(), IsOk());
  const fs::path gch = Write("k/include/a.h.gch", "");
  EXPECT_THAT(read(), HasError(ErrorKind::kInput, "'include/a.h.gch' is what a compiler makes"));
  fs::remove(gch);
  Write("k/include/b/table", "\177ELF\2");
  EXPECT_THAT(read(), HasError(ErrorKind::kInput, "'include/b/table' is an ELF file"));
}

TEST_F(ReadCandidateTest, ReadsCompilerBindingAndHeaderOnlyLibraries) {
  Write("k/a.cu", "");
  Write("k/a.py", "import torch\n");
  const auto read = [&](const std::string& manifest) {
    Write("k/candidate.toml", manifest);
    return ReadCandidate(folder_.path() / "k");
  };
  const auto candidate = read(
      "sources = [\"a.cu\"]\ncompiler = \"nvrtc\"\nbinding = \"c\"\ninclude = [\"cutlass\"]\n");
  ASSERT_THAT(candidate, IsOk());
  EXPECT_EQ(candidate->compiler, "nvrtc");
  EXPECT_EQ(candidate->libraries, std::vector<std::string>{"cutlass"});
  EXPECT_THAT(read("sources = [\"a.cu\"]\ncompiler = \"clang\"\n"),
              HasError(ErrorKind::kInput, "'clang'"));
  EXPECT_THAT(read("sources = [\"a.py\"]\ncompiler = \"nvcc\"\n"),
              HasError(ErrorKind::kInput, "lane cuda alone"));
  EXPECT_THAT(read("sources = [\"a.cu\"]\nbinding = \"tvm-ffi\"\n"),
              HasError(ErrorKind::kInput, "not supported"));
  EXPECT_THAT(read("sources = [\"a.cu\"]\nbinding = \"pytorch\"\n"),
              HasError(ErrorKind::kInput, "does not fit"));
}

TEST_F(CandidateTest, PlansNvrtcForDeviceCodeAndTheSystemsCompilerForTheHosts) {
  Write("k/gate.cu", "");
  Write("k/host.cc", "");
  Write("k/candidate.toml",
        "sources = [\"host.cc\", \"gate.cu\"]\ncompiler = \"nvrtc\"\nlane = \"cuda\"\n");
  const auto candidate = ReadCandidate(folder_.path() / "k");
  const auto plan = PlanBuild(*candidate, "/candidate", "/include", "/scratch", "sm_90",
                              "/cuda/lib64/libnvrtc.so");
  ASSERT_THAT(plan, IsOk());
  EXPECT_THAT(plan->command, Contains("/candidate/gate.cu"));
  EXPECT_THAT(plan->command, Contains("/candidate/host.cc"));
  EXPECT_THAT(plan->command, Contains(HasSubstr("--gpu-architecture=sm_90a")));
  EXPECT_EQ(plan->device_code, "/scratch/cubins");
  EXPECT_THAT(plan->shown, Contains(fs::path("/cuda/lib64")));
  EXPECT_THAT(PlanBuild(*candidate, "/candidate", "/include", "/scratch", "sm_90"),
              HasError(ErrorKind::kNotFound, "no NVRTC"));
  Write("k/candidate.toml", "sources = [\"gate.cu\"]\ncompiler = \"nvrtc\"\n");
  EXPECT_THAT(PlanBuild(*ReadCandidate(folder_.path() / "k"), "/c", "/i", "/o", "sm_90", "/n.so"),
              HasError(ErrorKind::kInput, "host code"));
}

TEST_F(ReadCandidateTest, RefusesLinksThatLeaveTheFolder) {
  Write("k/a.cc", "");
  Write("outside.h", "secret");
  fs::create_directories(folder_.path() / "k/include");
  fs::create_symlink("../outside.h", folder_.path() / "k/b.h");
  fs::create_symlink("../..", folder_.path() / "k/include/up");
  const auto read = [&](const char* manifest) {
    Write("k/candidate.toml", manifest);
    return ReadCandidate(folder_.path() / "k");
  };
  EXPECT_THAT(read("sources = [\"a.cc\", \"b.h\"]\n"), HasError(ErrorKind::kInput, "'b.h' leaves"));
  EXPECT_THAT(read("sources = [\"a.cc\"]\ninclude = [\"include\"]\n"),
              HasError(ErrorKind::kInput, "'include/up' leaves"));
}

TEST_F(ReadCandidateTest, TakesLinksThatStayInTheFolder) {
  Write("k/a.cc", "");
  Write("k/include/a.h", "");
  fs::create_symlink("include/a.h", folder_.path() / "k/b.h");
  Write("k/candidate.toml", "sources = [\"a.cc\", \"b.h\"]\ninclude = [\"include\"]\n");
  EXPECT_THAT(ReadCandidate(folder_.path() / "k"), IsOk());
}

Operator SmallOperator() {
  Operator op;
  op.name = "small";
  op.summary = "a small one";
  op.axes = {{"tokens", false}, {"lens", true}};
  op.derived = {{.name = "total", .expression = "L", .over = "lens"}};
  op.attributes = {{"eps", 1e-6}};
  op.inputs = {{.name = "x", .dtype = DType::kBF16, .sizes = {"tokens"}}};
  op.outputs = {{.name = "out", .dtype = DType::kF32, .sizes = {"tokens"}}};
  return op;
}

TEST_F(CandidateTest, TheHeaderDeclaresTheStructInTheContractsOrder) {
  const std::string header = ContractHeader(SmallOperator());
  size_t at = 0;
  for (const char* member : {"DLTensor x;", "DLTensor out;", "int64_t tokens;", "int64_t total;",
                             "double eps;", "} small_args;"}) {
    const size_t found = header.find(member, at);
    ASSERT_NE(found, std::string::npos) << member;
    at = found;
  }
  EXPECT_THAT(header, Not(HasSubstr("int64_t lens")));
}

TEST_F(CandidateTest, TheHeadersCompileAsCAndAsCxx) {
  Write("roofmark/abi.h", AbiHeader());
  Write("roofmark/small.h", ContractHeader(SmallOperator()));
  const std::string text =
      "#include \"roofmark/small.h\"\n"
      "int check[sizeof(DLTensor) == 48 && sizeof(small_args) == 2 * 48 + 3 * 8 ? 1 : -1];\n";
  for (const char* compiler : {"gcc", "g++"}) {
    const auto result =
        RunCommand({compiler, "-Wall", "-Werror", "-fsyntax-only", "-I" + folder_.path().string(),
                    Write(compiler[1] == 'c' ? "a.c" : "a.cc", text).string()});
    ASSERT_THAT(result, IsOk());
    EXPECT_EQ(result->exit_code, 0) << result->err;
  }
}

TEST_F(CandidateTest, PlansAnOrdinaryCompilation) {
  const auto candidate = ReadCandidate(Write("fast.cc", ""));
  const auto plan = PlanBuild(*candidate, "/candidate", "/include", "/scratch", "x86-64");
  ASSERT_THAT(plan, IsOk());
  EXPECT_EQ(plan->library, "/scratch/candidate.so");
  EXPECT_THAT(plan->command, Contains("/candidate/fast.cc"));
  EXPECT_THAT(plan->command, Contains("-I/include"));
  EXPECT_TRUE(plan->device_code.empty());
}

TEST_F(CandidateTest, PythonLanesCompileInTheirWorker) {
  const auto candidate = ReadCandidate(Write("a.py", "import triton\n"));
  EXPECT_TRUE(PlanBuild(*candidate, "/c", "/i", "/o", "sm_90")->command.empty());
}

fs::path Build(const fs::path& folder, const std::string& source,
               const std::vector<std::string>& more = {}) {
  EXPECT_THAT(WriteFile(folder / "v.cc", source), IsOk());
  std::vector<std::string> argv = {
      "g++", "-shared", "-fPIC", "-o", (folder / "v.so").string(), (folder / "v.cc").string()};
  argv.insert(argv.end(), more.begin(), more.end());
  const auto built = RunCommand(argv);
  EXPECT_TRUE(built.has_value() && built->exit_code == 0);
  return folder / "v.so";
}

TEST_F(VendorTest, AnHonestLibraryHasNone) {
  const auto found = VendorSymbol(Build(folder_.path(),
                                        "#include <cmath>\n#include <cstdlib>\n"
                                        "double f(double x) { return exp(x); }"));
  ASSERT_THAT(found, IsOk());
  EXPECT_EQ(*found, std::nullopt);
}

TEST_F(VendorTest, NamesAVendorsFunction) {
  EXPECT_EQ(*VendorSymbol(Build(folder_.path(),
                                "extern \"C\" int cublasGemmEx(int);\n"
                                "int f() { return cublasGemmEx(1); }")),
            "cublasGemmEx");
  EXPECT_EQ(*VendorSymbol(Build(folder_.path(),
                                "namespace at { int mm(); }\n"
                                "int f() { return at::mm(); }")),
            "_ZN2at2mmEv");
}

TEST_F(VendorTest, NamesAVendorsLibraryThatIsLinked) {
  const fs::path vendor =
      Build(folder_.path(), "int g() { return 1; }", {"-Wl,-soname,libcublas.so.12"});
  fs::copy_file(vendor, folder_.path() / "libcublas.so");
  EXPECT_EQ(*VendorSymbol(Build(folder_.path(), "int g(); int f() { return g(); }",
                                {"-L" + folder_.path().string(), "-lcublas"})),
            "libcublas.so.12");
}

TEST_F(VendorTest, RefusesWhatIsNoLibrary) {
  EXPECT_THAT(VendorSymbol(Write("a.so", "text")), HasError(ErrorKind::kInput, "no x86-64"));
  std::string broken = *ReadFile(Build(folder_.path(), "int f() { return 1; }"));
  broken.resize(broken.size() / 3);
  EXPECT_THAT(VendorSymbol(Write("b.so", broken)), HasError(ErrorKind::kInput, "b.so"));
}

TEST_F(VendorTest, KnowsVendorLibrariesByName) {
  for (const char* name : {"libcublasLt.so.13", "libcudnn_ops.so", "libtorch_cpu.so", "libc10.so",
                           "libopenblasp-r0.3.21.so"}) {
    EXPECT_TRUE(IsVendorLibrary(name)) << name;
  }
  for (const char* name : {"libc.so.6", "libcudart.so.13", "libnvrtc.so.13", "libgomp.so.1"}) {
    EXPECT_FALSE(IsVendorLibrary(name)) << name;
  }
}

}  // namespace
}  // namespace roofmark::candidate
