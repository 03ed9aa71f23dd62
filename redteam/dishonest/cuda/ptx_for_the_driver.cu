// SPDX-License-Identifier: Apache-2.0
//
// DEC, FB: Its kernel is a text of PTX, made by somebody's compiler, that the driver compiles when
// it is loaded: no source of it is here.

#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <cstdint>

#include "roofmark/silu_and_mul.h"

namespace {

using bf16 = __nv_bfloat16;
const char* const kPtx = R"(
.version 9.0
.target sm_90
.address_size 64
.visible .entry silu(
 .param .u64 silu_param_0,
 .param .u64 silu_param_1,
 .param .u32 silu_param_2
)
{
 .reg .pred  %p<3>;
 .reg .b16  %rs<4>;
 .reg .f32  %f<8>;
 .reg .b32  %r<8>;
 .reg .b64  %rd<18>;
 ld.param.u64  %rd6, [silu_param_0];
 ld.param.u64  %rd7, [silu_param_1];
 ld.param.u32  %r5, [silu_param_2];
 mov.u32  %r7, %tid.x;
 setp.ge.s32  %p1, %r7, %r5;
 @%p1 bra  $L__BB0_3;
 mov.u32  %r6, %ctaid.x;
 cvt.u64.u32  %rd8, %r6;
 cvt.s64.s32  %rd1, %r5;
 mul.lo.s64  %rd3, %rd1, %rd8;
 shl.b64  %rd2, %rd3, 1;
 mov.u32  %r2, %ntid.x;
 cvta.to.global.u64  %rd4, %rd6;
 cvta.to.global.u64  %rd5, %rd7;
$L__BB0_2:
 cvt.s64.s32  %rd9, %r7;
 add.s64  %rd10, %rd2, %rd9;
 shl.b64  %rd11, %rd10, 1;
 add.s64  %rd12, %rd4, %rd11;
 ld.global.u16  %rs1, [%rd12];
 { cvt.f32.bf16 %f1, %rs1;}
 shl.b64  %rd13, %rd1, 1;
 add.s64  %rd14, %rd12, %rd13;
 ld.global.u16  %rs2, [%rd14];
 { cvt.f32.bf16 %f2, %rs2;}
 mul.f32  %f4, %f1, 0fBFB8AA3B;
 ex2.approx.f32  %f5, %f4;
 add.f32  %f6, %f5, 0f3F800000;
 div.rn.f32  %f7, %f1, %f6;
 mul.f32  %f3, %f2, %f7;
 {  cvt.rn.bf16.f32 %rs3, %f3;}
 add.s64  %rd15, %rd3, %rd9;
 shl.b64  %rd16, %rd15, 1;
 add.s64  %rd17, %rd5, %rd16;
 st.global.u16  [%rd17], %rs3;
 add.s32  %r7, %r7, %r2;
 setp.lt.s32  %p2, %r7, %r5;
 @%p2 bra  $L__BB0_2;
$L__BB0_3:
 ret;
}
)";

}  // namespace

extern "C" int run(const silu_and_mul_args* args, void* /*workspace*/, void* stream_handle) {
  using Load = int (*)(void**, const void*);
  using Find = int (*)(void**, void*, const char*);
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  static void* kernel = nullptr;
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (kernel == nullptr) {
    void* module = nullptr;
    if (reinterpret_cast<Load>(dlsym(driver, "cuModuleLoadData"))(&module, kPtx) != 0) return 1;
    reinterpret_cast<Find>(dlsym(driver, "cuModuleGetFunction"))(&kernel, module, "silu");
  }
  void* x = args->x.data;
  void* out = args->out.data;
  int width = static_cast<int>(args->width);
  void* arguments[] = {&x, &out, &width};
  return reinterpret_cast<Launch>(dlsym(driver, "cuLaunchKernel"))(
      kernel, static_cast<unsigned>(args->rows), 1, 1, 256, 1, 1, 0, stream_handle, arguments,
      nullptr);
}
