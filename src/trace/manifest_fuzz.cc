// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to manifests, which people write by hand and export from anything.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "trace/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace roofmark::trace;  // NOLINT
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto rows = ParseManifest(text);
  if (!rows) {
    CHECK(!rows.error().message().empty());
    return 0;
  }
  size_t line = 1;
  for (const ManifestRow& row : *rows) {
    CHECK(row.line > line);
    line = row.line;
    CHECK(!row.glob.empty() && row.options.group.size() == 16);
    CHECK(row.options.ranks >= 0 && row.options.card_ms.value_or(0) >= 0);
  }
  return 0;
}
