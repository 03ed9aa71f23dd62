// SPDX-License-Identifier: Apache-2.0
// One end of the socket between the judge and a worker. A message is a 4-byte little-endian length,
// that many bytes of JSON, and descriptors attached to its first byte. The other end may be
// hostile: whatever arrives is bounded in size and depth, and no wait is without a deadline.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/owned.h"
#include "base/result.h"

namespace roofmark::worker {

using Deadline = std::chrono::steady_clock::time_point;
Deadline After(double seconds);

// Shapes with thousands of sequence lengths and error texts stay far below this.
inline constexpr uint32_t kMaxMessageBytes = 64U << 20;
inline constexpr int kMaxMessageDepth = 32;
inline constexpr size_t kMaxMessageFds = 8;

struct Message {
  Json json;
  std::vector<Fd> fds;
  pid_t sender = 0;  // as the kernel says, in the receiver's process namespace; 0 when unknown
};

enum class ChannelFault { kClosed, kTimeout, kRubbish };
struct ChannelError {
  ChannelFault fault = ChannelFault::kClosed;
  std::string detail;
};

class Channel {
 public:
  explicit Channel(Fd socket) : socket_(std::move(socket)) {}

  int fd() const { return socket_.get(); }
  Fd TakeSocket() { return std::move(socket_); }

  // Errors: kClosed when the other end is gone, kTimeout when it does not read.
  std::expected<void, ChannelError> Send(const Json& json, std::span<const int> fds,
                                         Deadline deadline);
  // At most `patience` is spent; kTimeout then leaves what arrived so far for the next call.
  std::expected<Message, ChannelError> Receive(Deadline deadline);
  // Whether bytes are waiting: after a reply was taken, they are rubbish.
  bool HasUnread() const;

 private:
  std::expected<void, ChannelError> Fill(Deadline deadline);
  std::expected<Message, ChannelError> TakeMessage(uint32_t length);

  Fd socket_;
  std::string buffer_;
  std::vector<Fd> fds_;
  pid_t sender_ = 0;
};

// Makes the connected pair; both close on exec. Messages that arrive at `judge` carry their sender.
struct ChannelPair {
  Fd judge;
  Fd worker;
};
Result<ChannelPair> MakeChannelPair();

}  // namespace roofmark::worker
