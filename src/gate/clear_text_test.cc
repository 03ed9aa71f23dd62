// SPDX-License-Identifier: Apache-2.0
#include "gate/clear_text.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> InPython(std::string_view python) {
  return CudaKernelNames(PythonStrings(python));
}

TEST(CudaKernels, AreTheGlobalFunctionsThatACudaTextDefines) {
  EXPECT_THAT(CudaKernelNames("__global__ void first(float* x) {}\n"
                              "template <int N>\n"
                              "__global__ __launch_bounds__(N * (2)) void\nsecond(int n) {\n}"
                              "static void __global__ third() { f(); }"),
              ElementsAre("first", "second", "third"));
  EXPECT_THAT(CudaKernelNames("no __global__"), IsEmpty());
}

TEST(CudaKernels, AreNotWhatIsDeclaredOrStandsInACommentOrALiteral) {
  for (const char* text :
       {"__global__ void k(int n);", "// __global__ void k(int n) {}",
        "//\\\n__global__ void k() {}", "/* __global__ void k(int n) {} */",
        "auto s = \"__global__ void k(int n) {}\";", "auto s = R\"x(\" __global__ void k() {})x\";",
        "char c = '\"'; // __global__ void k() {}"}) {
    EXPECT_THAT(CudaKernelNames(text), IsEmpty()) << text;
  }
  EXPECT_THAT(CudaKernelNames("int n = 1'000; __global__ void k() {}"), ElementsAre("k"));
  EXPECT_THAT(CudaKernelNames("a /* b // */ __global__ void k() {}"), ElementsAre("k"));
}

TEST(CudaKernels, StandInPythonInStringsThatAreUsed) {
  EXPECT_THAT(InPython(R"py(
SOURCE = """
// the kernel
__global__ void gate(float* x) { x[0] = '#'; }
"""
module = load_inline("x", cuda_sources=[
    r'''__global__ void up(float* x) {}'''
    "// said\n__global__ void down(int n) {}",
    f"__global__ void {NAME}(int n) {{}}"])
)py"),
              ElementsAre("gate", "up", "down"));
}

TEST(CudaKernels, InPythonsCommentsAndDocstringsAreNone) {
  EXPECT_THAT(InPython("\"\"\"__global__ void a() {}\"\"\"\n"
                       "# An extension: __global__ void b() {} \"\n"
                       "def f():\n    '''__global__ void c() {}'''\n    return 1\n"
                       "x = 1; '__global__ void d() {}'\n"
                       "y = \"// __global__ void e() {}\"\n"
                       "__global__ = None  # void g() {}\n"),
              IsEmpty());
  EXPECT_THAT(InPython("x = 'never ends"), IsEmpty());
}

}  // namespace
}  // namespace roofmark::gate
