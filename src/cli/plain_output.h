// SPDX-License-Identifier: Apache-2.0
// What this program prints is text. Candidates, profiles and stores of others are full of words
// that it repeats, and a terminal obeys control characters in them: it would move the cursor, and
// let a refused program write "passed" over its own verdict. So all output goes through one place
// that shows them instead.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace roofmark::cli {

// Output in pieces of any length, made plain: control characters other than newline and tab (C0,
// DEL, C1) become "\u001b", which in a line of JSON is still the same text; a byte that is not
// UTF-8 becomes U+FFFD. What a piece begins and leaves unfinished is kept for the next one.
class PlainText {
 public:
  std::string Take(std::string_view piece);
  // What was left unfinished.
  std::string Rest();

 private:
  std::string unfinished_;
};

// From here on, stdout and stderr of this process are plain; what is written to the descriptors
// themselves (Progress) is not. Does nothing where the C library cannot.
void MakeOutputPlain();

}  // namespace roofmark::cli
