// SPDX-License-Identifier: Apache-2.0
//
// The right answer of rms_norm as a text for the driver's own compiler, and the driver's functions.
#pragma once

#include <dlfcn.h>

#include <string>

#include "right_norm_gpu.h"

namespace {

// Ahead of the name, and behind it.
constexpr const char* kPtxHead = R"ptx(
.version 8.0
.target sm_90
.address_size 64
.visible .entry )ptx";
constexpr const char* kPtxBody = R"ptx((
 .param .u64 p0,
 .param .u64 p1,
 .param .u64 p2,
 .param .u32 p3,
 .param .f32 p4
)
{
 .reg .pred  %p<10>;
 .reg .b16  %rs<6>;
 .reg .f32  %f<29>;
 .reg .b32  %r<27>;
 .reg .b64  %rd<34>;
 ld.param.u64  %rd18, [p0];
 ld.param.u64  %rd16, [p1];
 ld.param.u64  %rd17, [p2];
 ld.param.u32  %r6, [p3];
 ld.param.f32  %f6, [p4];
 cvta.to.global.u64  %rd1, %rd18;
 mov.u32  %r7, %ctaid.x;
 cvt.u64.u32  %rd2, %r7;
 cvt.s64.s32  %rd3, %r6;
 mov.u32  %r26, %tid.x;
 setp.ge.s32  %p1, %r26, %r6;
 mov.f32  %f28, 0f00000000;
 @%p1 bra  $L__BB0_3;
 mul.lo.s64  %rd19, %rd3, %rd2;
 cvt.s64.s32  %rd20, %r26;
 add.s64  %rd21, %rd19, %rd20;
 shl.b64  %rd22, %rd21, 1;
 add.s64  %rd30, %rd1, %rd22;
 mov.f32  %f28, 0f00000000;
 mov.u32  %r25, %r26;
$L__BB0_2:
 .pragma "nounroll";
 ld.global.u16  %rs1, [%rd30];
 // begin inline asm
 { cvt.f32.bf16 %f9, %rs1;}
 // end inline asm
 // begin inline asm
 { cvt.f32.bf16 %f10, %rs1;}
 // end inline asm
 fma.rn.f32  %f28, %f9, %f10, %f28;
 add.s64  %rd30, %rd30, 64;
 add.s32  %r25, %r25, 32;
 setp.lt.s32  %p2, %r25, %r6;
 @%p2 bra  $L__BB0_2;
$L__BB0_3:
 mov.b32  %r8, %f28;
 mov.u32  %r9, 31;
 mov.u32  %r10, 16;
 mov.u32  %r11, -1;
 shfl.sync.bfly.b32  %r12|%p3, %r8, %r10, %r9, %r11;
 mov.b32  %f11, %r12;
 add.f32  %f12, %f28, %f11;
 mov.b32  %r13, %f12;
 mov.u32  %r14, 8;
 shfl.sync.bfly.b32  %r15|%p4, %r13, %r14, %r9, %r11;
 mov.b32  %f13, %r15;
 add.f32  %f14, %f12, %f13;
 mov.b32  %r16, %f14;
 mov.u32  %r17, 4;
 shfl.sync.bfly.b32  %r18|%p5, %r16, %r17, %r9, %r11;
 mov.b32  %f15, %r18;
 add.f32  %f16, %f14, %f15;
 mov.b32  %r19, %f16;
 mov.u32  %r20, 2;
 shfl.sync.bfly.b32  %r21|%p6, %r19, %r20, %r9, %r11;
 mov.b32  %f17, %r21;
 add.f32  %f18, %f16, %f17;
 mov.b32  %r22, %f18;
 mov.u32  %r23, 1;
 shfl.sync.bfly.b32  %r24|%p7, %r22, %r23, %r9, %r11;
 mov.b32  %f19, %r24;
 add.f32  %f4, %f18, %f19;
 @%p1 bra  $L__BB0_6;
 mul.lo.s64  %rd23, %rd3, %rd2;
 cvt.s64.s32  %rd24, %r26;
 add.s64  %rd25, %rd23, %rd24;
 cvta.to.global.u64  %rd26, %rd17;
 shl.b64  %rd27, %rd25, 1;
 add.s64  %rd33, %rd26, %rd27;
 add.s64  %rd32, %rd1, %rd27;
 cvta.to.global.u64  %rd28, %rd16;
 mul.wide.s32  %rd29, %r26, 2;
 add.s64  %rd31, %rd28, %rd29;
 cvt.rn.f32.s32  %f20, %r6;
 div.rn.f32  %f21, %f4, %f20;
 add.f32  %f22, %f21, %f6;
 rsqrt.approx.f32  %f5, %f22;
$L__BB0_5:
 .pragma "nounroll";
 ld.global.u16  %rs3, [%rd32];
 // begin inline asm
 { cvt.f32.bf16 %f23, %rs3;}
 // end inline asm
 mul.f32  %f26, %f5, %f23;
 ld.global.u16  %rs4, [%rd31];
 // begin inline asm
 { cvt.f32.bf16 %f24, %rs4;}
 // end inline asm
 mul.f32  %f25, %f26, %f24;
 // begin inline asm
 {  cvt.rn.bf16.f32 %rs5, %f25;}
 // end inline asm
 st.global.u16  [%rd33], %rs5;
 add.s64  %rd33, %rd33, 64;
 add.s64  %rd32, %rd32, 64;
 add.s64  %rd31, %rd31, 64;
 add.s32  %r26, %r26, 32;
 setp.lt.s32  %p9, %r26, %r6;
 @%p9 bra  $L__BB0_5;
$L__BB0_6:
 ret;
}
)ptx";

// One warp a row, like Norm.
inline std::string NormInPtx(const std::string& entry) {
  return kPtxHead + entry + kPtxBody;
}

template <typename Function>
Function Driver(const char* name) {
  return reinterpret_cast<Function>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), name));
}

// Null where the driver does not take the image, or finds no kernel of that name in it.
inline void* KernelIn(const void* image, const char* name) {
  void* module = nullptr;
  void* function = nullptr;
  if (Driver<int (*)(void**, const void*)>("cuModuleLoadData")(&module, image) != 0) return nullptr;
  const auto get = Driver<int (*)(void**, void*, const char*)>("cuModuleGetFunction");
  return get(&function, module, name) == 0 ? function : nullptr;
}

inline int LaunchRows(void* function, unsigned rows, void* stream, void** arguments) {
  using Launch = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
  return Driver<Launch>("cuLaunchKernel")(function, rows, 1, 1, 32, 1, 1, 0, stream, arguments,
                                          nullptr);
}

}  // namespace
