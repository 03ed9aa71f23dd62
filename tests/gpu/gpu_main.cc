// SPDX-License-Identifier: Apache-2.0
// The GPU tests start this program again: as a sandboxed worker, or as a candidate that misbehaves.
#include <fmt/format.h>
#include <unistd.h>

#include "gpu/gpu_bench.h"
#include "worker/launcher.h"

namespace {

constexpr roofmark::gpu::NamedRole kRoles[] = {{"writer", roofmark::gpu::PlayWriter},
                                               {"native", roofmark::gpu::PlayNative},
                                               {"clocks", roofmark::gpu::PlayClocks},
                                               {"stage", roofmark::gpu::PlayStage}};

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = roofmark::worker::MaybeRunWorker(argc, argv)) return *code;
  for (const auto& [name, role] : kRoles) {
    if (argc < 2 || std::string_view(argv[1]) != name) continue;
    ::alarm(120);  // a role that hangs must not outlive its test
    const auto played = role(std::vector<std::string>(argv + 2, argv + argc));
    if (played) return 0;
    fmt::print(stderr, "{}\n", played.error().message());
    return 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
