// SPDX-License-Identifier: Apache-2.0
// Compresses text for the tests of the reader and for generated benchmark profiles.
#pragma once

#include <isa-l/igzip_lib.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace roofmark::trace {

// One gzip member.
inline std::string Gzip(std::string_view text) {
  std::string out(text.size() + (64 << 10), '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  std::string input(text);
  stream.next_in = reinterpret_cast<uint8_t*>(input.data());
  stream.avail_in = static_cast<uint32_t>(input.size());
  stream.next_out = reinterpret_cast<uint8_t*>(out.data());
  stream.avail_out = static_cast<uint32_t>(out.size());
  stream.end_of_stream = 1;
  isal_deflate_stateless(&stream);
  out.resize(stream.total_out);
  return out;
}

}  // namespace roofmark::trace
