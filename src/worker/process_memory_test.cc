// SPDX-License-Identifier: Apache-2.0
#include "worker/process_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "base/owned.h"
#include "base/testing.h"

namespace roofmark::worker {
namespace {

constexpr size_t kBytes = size_t{8} << 20;
constexpr int64_t kGrown = int64_t{7} << 20;

int64_t Held() {
  const std::optional<int64_t> held = HeldBytes(::getpid());
  EXPECT_TRUE(held.has_value());
  return held.value_or(0);
}

// By how much the process holds more while this is mapped and used.
int64_t GrowthBy(int flags, int fd = -1) {
  const int64_t before = Held();
  void* const memory = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  EXPECT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  const int64_t after = Held();
  ::munmap(memory, kBytes);
  EXPECT_LT(Held() - before, kGrown) << "what is given back does not count";
  return after - before;
}

TEST(HeldBytes, GrowWithPrivateAndWithSharedMemory) {
  EXPECT_GE(GrowthBy(MAP_PRIVATE | MAP_ANONYMOUS), kGrown);
  EXPECT_GE(GrowthBy(MAP_SHARED | MAP_ANONYMOUS), kGrown);
}

TEST(HeldBytes, GrowWithMappedFilesThatLieInMemory) {
  const Fd file(::memfd_create("held", MFD_CLOEXEC));
  ASSERT_TRUE(file.valid());
  ASSERT_EQ(::ftruncate(file.get(), kBytes), 0);
  EXPECT_GE(GrowthBy(MAP_SHARED, file.get()), kGrown);
}

TEST(HeldBytes, GrowWithSharedMemoryWhosePagesWereLetGo) {
  const int64_t before = Held();
  void* const memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, kBytes);
  ::madvise(memory, kBytes, MADV_DONTNEED);
  EXPECT_GE(Held() - before, kGrown);
  ::munmap(memory, kBytes);
}

TEST(HeldBytes, AreUnknownOfAProcessThatIsGone) {
  EXPECT_FALSE(HeldBytes(0x3fffffff).has_value());
}

}  // namespace
}  // namespace roofmark::worker
