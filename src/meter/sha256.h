// SPDX-License-Identifier: Apache-2.0
// SHA-256 without a library: the meter is loaded into foreign processes, so it must bring nothing
// along that could clash with what they load. base/hash.h is the judge's, by OpenSSL.
#pragma once

#include <string>
#include <string_view>

namespace roofmark::meter {

// 64 lower-case hexadecimal digits, equal to roofmark::Sha256Hex. Source: FIPS 180-4.
std::string Sha256(std::string_view bytes);

}  // namespace roofmark::meter
