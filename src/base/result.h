// SPDX-License-Identifier: Apache-2.0
// How Roofmark reports that an input or the machine is bad. Three kinds of bad news exist and are
// never mixed: a verdict (the candidate is bad: data in model/verdict.h), an Error (this file), and
// a bug of ours (CHECK in base/check.h, which aborts).
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace roofmark {

enum class ErrorKind {
  kInput,     // a file or argument that a person gave is malformed
  kNotFound,  // something named does not exist
  kIo,        // the operating system refused
  kDevice,    // the GPU, its driver or a tool of it failed
  kTimeout,   // a limit of ours ran out in a trusted part
  kUsage,     // the command line is wrong
};

// A message for a person: what is wrong, where, and the way out.
class [[nodiscard]] Error {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

  // Returns the error with `what` in front: "reading suite a.json: line 3: weight is negative".
  Error Context(std::string_view what) const {
    return Error(kind_, std::string(what) + ": " + message_);
  }

 private:
  ErrorKind kind_;
  std::string message_;
};

template <typename T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> Fail(ErrorKind kind, std::string message) {
  return std::unexpected<Error>(Error(kind, std::move(message)));
}

}  // namespace roofmark

#define ROOFMARK_CONCAT_INNER(a, b) a##b
#define ROOFMARK_CONCAT(a, b) ROOFMARK_CONCAT_INNER(a, b)

// auto value = TRY(Read(path));  returns the error from the enclosing function, which must itself
// return a Result. For Result<void>:  TRY(Write(path));  The names are counted, so that TRYs nest.
#define TRY(expr) ROOFMARK_TRY_NAMED(ROOFMARK_CONCAT(try_result_, __COUNTER__), expr, error())

// TRY_IN(Read(path), "reading suite " + path): the same, with context in front of the message.
#define TRY_IN(expr, context) \
  ROOFMARK_TRY_NAMED(ROOFMARK_CONCAT(try_result_, __COUNTER__), expr, error().Context(context))

#define ROOFMARK_TRY_NAMED(name, expr, failure)                         \
  __extension__({                                                       \
    auto name = (expr);                                                 \
    if (!name) return std::unexpected<::roofmark::Error>(name.failure); \
    std::move(name).value();                                            \
  })
