// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to aggregates, which come from other machines: what is accepted is written back
// as it was read, merges with itself into itself, and can be taken out again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "model/aggregate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using roofmark::Aggregate;
  using roofmark::Json;
  const auto json = Json::Parse({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  auto aggregate = Aggregate::FromJson(*json);
  if (!aggregate) return 0;
  const std::string text = aggregate->ToJson().Dump();
  const auto again = Aggregate::FromJson(Json::Parse(text).value());
  CHECK(again && again->ToJson().Dump() == text);
  aggregate->Merge(*again);
  CHECK(aggregate->ToJson().Dump() == text);
  for (const auto& [hash, profile] : again->profiles()) CHECK(aggregate->Remove(hash));
  CHECK(aggregate->profiles().empty());
  return 0;
}
