// SPDX-License-Identifier: Apache-2.0
// libFuzzer's entry to the containers (gzip of several members, zstd of several frames): whatever
// the size of the caller's block, and from the beginning again, the bytes are the same.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "trace/byte_source.h"

namespace {

using roofmark::trace::ByteSource;

constexpr size_t kAhead = 65 << 10;  // that ISA-L inflates ahead, and loses where that is damaged
constexpr size_t kMost = 1 << 18;    // a bomb goes on; its beginning says enough

// Up to kMost bytes, read in blocks.
std::string Unpack(ByteSource& source, size_t block) {
  std::string text;
  std::string to(block, '\0');
  while (text.size() < kMost) {
    const size_t got = source.Read(to.data(), std::min(block, kMost - text.size())).value();
    if (got == 0) break;
    CHECK(got <= block);
    text.append(to, 0, got);
  }
  CHECK(source.bytes() == text.size());
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ByteSource source = ByteSource::FromMemory(bytes);
  const std::string whole = Unpack(source, kMost);
  const std::string damage = source.damage();
  if (!source.compressed()) CHECK(whole == bytes.substr(0, kMost));
  CHECK(source.Restart());
  const std::string again = Unpack(source, 4093);
  const size_t same = std::min(whole.size(), again.size());
  CHECK(whole.compare(0, same, again, 0, same) == 0);
  CHECK(std::max(whole.size(), again.size()) - same <= (damage.empty() ? 0 : kAhead));
  if (whole.size() < kMost) CHECK(source.damage() == damage);
  return 0;
}
