// SPDX-License-Identifier: Apache-2.0
#include "worker/code_pages.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>

#include "base/testing.h"

namespace roofmark::worker {
namespace {

using testing::HasSubstr;

// What is found in a child that has done something and waits to be killed.
template <typename Act>
std::string FoundAfter(const Act& act) {
  std::array<int, 2> ready{};
  EXPECT_EQ(::pipe(ready.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    act();
    (void)!::write(ready[1], "r", 1);
    while (true) ::pause();
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  std::string found = ChangedCode(child);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  return found;
}

void* Function() {
  return ::dlsym(RTLD_DEFAULT, "qsort");
}

// Writes over the first byte of a library's function; with the same one, since pages are what is
// looked at.
void Detour() {
  auto* const at = static_cast<volatile unsigned char*>(Function());
  const uintptr_t page = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{4095};
  if (::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    ::_exit(1);
  }
  *at = *at;
}

TEST(ChangedCode, IsNothingInAProcessThatLeavesItAlone) {
  EXPECT_EQ(FoundAfter([] { (void)Function(); }), "");
}

TEST(ChangedCode, NamesTheLibraryWhoseFunctionWasDetoured) {
  EXPECT_THAT(FoundAfter(Detour), HasSubstr("libc"));
}

TEST(ChangedCode, IsSeenEvenWhereTheBytesWerePutBackAndThePageIsProtectedAgain) {
  EXPECT_THAT(FoundAfter([] {
                Detour();
                const uintptr_t page = reinterpret_cast<uintptr_t>(Function()) & ~uintptr_t{4095};
                ::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_EXEC);
              }),
              HasSubstr("libc"));
}

TEST(ChangedCode, DoesNotSayAnythingOfAProcessThatIsGone) {
  EXPECT_EQ(ChangedCode(-1), "");
}

}  // namespace
}  // namespace roofmark::worker
