// SPDX-License-Identifier: Apache-2.0
#include "gate/framework_fills.h"

#include "base/testing.h"

namespace roofmark::gate {
namespace {

TEST(FrameworkFills, AreFillFunctorOverOneTensorOfAnyType) {
  for (const char* name : {
           "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EE"
           "EEviT0_T1_",
           "_ZN2at6native29vectorized_elementwise_kernelILi16ENS0_11FillFunctorIN3c107complexINS3_"
           "4HalfEEEEESt5arrayIPcLm1EEEEviT0_T1_",
           "_ZN2at6native27unrolled_elementwise_kernelINS0_11FillFunctorIN3c108BFloat16EEESt5arrayI"
           "PcLm1EELi4E23TrivialOffsetCalculatorILi0EjES9_ILi1EjENS0_6memory15LoadWithoutCastENSC_"
           "16StoreWithoutCastEEEviT_T0_T2_T3_T4_T5_",
           "_ZN2at6native18elementwise_kernelILi128ELi4EZNS0_22gpu_kernel_impl_nocastINS0_11FillFun"
           "ctorIN3c1013Float8_e4m3fnEEEEEvRNS_18TensorIteratorBaseERKT_EUliE_EEviT1_",
       }) {
    EXPECT_TRUE(IsFillKernel(name)) << name;
  }
}

TEST(FrameworkFills, AreNotConversionsCopiesOrSums) {
  for (const char* name :
       {"_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Tenso"
        "rIteratorBaseEENKUlvE1_clEvENKUlvE5_clEvEUlfE_St5arrayIPcLm2EELi4E23TrivialOffsetCalcul"
        "atorILi1EjESB_NS0_6memory12LoadWithCastILi1EEENSC_13StoreWithCastILi1EEEEEviT_T0_T2_T3_"
        "T4_T5_",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3"
        "EEEEviT0_T1_",
        "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm2EE"
        "EEviT0_T1_",
        "", "memset"}) {
    EXPECT_FALSE(IsFillKernel(name)) << name;
  }
}

TEST(FrameworkFills, AreKnownByTheirWholeNameAlone) {
  // The jiterator takes the beginning of a name from whoever writes the text.
  const std::string fill =
      "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0"
      "_T1_";
  EXPECT_FALSE(IsFillKernel(fill + "_vectorized4_kernel"));
  EXPECT_FALSE(IsFillKernel("my" + fill));
  EXPECT_FALSE(IsFillKernel(fill.substr(0, fill.size() - 1)));
  EXPECT_FALSE(IsFillKernel("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorI"));
}

}  // namespace
}  // namespace roofmark::gate
