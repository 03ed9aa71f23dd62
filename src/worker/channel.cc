// SPDX-License-Identifier: Apache-2.0
#include "worker/channel.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/check.h"

namespace roofmark::worker {
namespace {

using std::chrono::steady_clock;

std::unexpected<ChannelError> Fault(ChannelFault fault, std::string detail) {
  return std::unexpected(ChannelError{.fault = fault, .detail = std::move(detail)});
}

// True when the socket is ready for `events` (or broken) before the deadline.
bool WaitFor(int fd, short events, Deadline deadline) {
  while (true) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - steady_clock::now()).count();
    pollfd poll_fd = {fd, events, 0};
    const int ready =
        ::poll(&poll_fd, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000)));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;
  }
}

// Parsers and destructors recurse; nesting that no worker of ours sends must not reach them.
bool IsTooDeep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (depth > kMaxMessageDepth) return true;
  }
  return false;
}

}  // namespace

Deadline After(double seconds) {
  return steady_clock::now() +
         std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

std::expected<void, ChannelError> Channel::Send(const Json& json, std::span<const int> fds,
                                                Deadline deadline) {
  CHECK(fds.size() <= kMaxMessageFds);
  const std::string text = json.Dump();
  CHECK(text.size() <= kMaxMessageBytes);
  const auto length = static_cast<uint32_t>(text.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  frame += text;

  std::string_view left = frame;
  while (!left.empty()) {
    iovec part = {const_cast<char*>(left.data()), left.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMaxMessageFds * sizeof(int))> control{};
    if (!fds.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(fds.size_bytes());
      cmsghdr* const rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(fds.size_bytes());
      std::memcpy(CMSG_DATA(rights), fds.data(), fds.size_bytes());
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) {
      left.remove_prefix(static_cast<size_t>(sent));
      fds = {};
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return Fault(ChannelFault::kClosed, std::strerror(errno));
    if (!WaitFor(socket_.get(), POLLOUT, deadline)) {
      return Fault(ChannelFault::kTimeout, "does not read its requests");
    }
  }
  return {};
}

// Reads once into the buffer. Descriptors beyond what a message may carry are closed.
std::expected<void, ChannelError> Channel::Fill(Deadline deadline) {
  std::array<char, 65536> bytes;
  iovec part = {bytes.data(), bytes.size()};
  alignas(cmsghdr)
      std::array<char, CMSG_SPACE(kMaxMessageFds * sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
          control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0) {
    if (errno == EINTR) return {};
    if (errno != EAGAIN) return Fault(ChannelFault::kClosed, std::strerror(errno));
    if (!WaitFor(socket_.get(), POLLIN, deadline)) return Fault(ChannelFault::kTimeout, "no reply");
    return {};
  }
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET) continue;
    if (c->cmsg_type == SCM_CREDENTIALS) {
      ucred credentials{};
      std::memcpy(&credentials, CMSG_DATA(c), sizeof credentials);
      sender_ = credentials.pid;
    } else if (c->cmsg_type == SCM_RIGHTS) {
      const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      for (size_t i = 0; i < count; ++i) {
        int fd = -1;
        std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
        fds_.emplace_back(fd);
      }
      if (fds_.size() > kMaxMessageFds) fds_.clear();
    }
  }
  if (got == 0) return Fault(ChannelFault::kClosed, "closed its socket");
  buffer_.append(bytes.data(), static_cast<size_t>(got));
  return {};
}

std::expected<Message, ChannelError> Channel::TakeMessage(uint32_t length) {
  const std::string_view text = std::string_view(buffer_).substr(sizeof length, length);
  if (IsTooDeep(text)) return Fault(ChannelFault::kRubbish, "message is nested too deeply");
  Result<Json> json = Json::Parse(text);
  if (!json) return Fault(ChannelFault::kRubbish, json.error().message());
  if (!json->is_object()) return Fault(ChannelFault::kRubbish, "message is no JSON object");
  Message message{.json = std::move(*json), .fds = std::move(fds_), .sender = sender_};
  fds_.clear();
  buffer_.erase(0, sizeof length + length);
  return message;
}

std::expected<Message, ChannelError> Channel::Receive(Deadline deadline) {
  while (true) {
    uint32_t length = 0;
    if (buffer_.size() >= sizeof length) {
      std::memcpy(&length, buffer_.data(), sizeof length);
      if (length > kMaxMessageBytes) {
        return Fault(ChannelFault::kRubbish, fmt::format("bytes that are no message of ours: {:?}",
                                                         std::string_view(buffer_).substr(0, 40)));
      }
      if (buffer_.size() >= sizeof length + length) return TakeMessage(length);
    }
    auto filled = Fill(deadline);
    if (!filled) return std::unexpected(std::move(filled.error()));
  }
}

bool Channel::HasUnread() const {
  if (!buffer_.empty()) return true;
  pollfd poll_fd = {socket_.get(), POLLIN, 0};
  char byte;
  return ::poll(&poll_fd, 1, 0) > 0 && ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

Result<ChannelPair> MakeChannelPair() {
  std::array<int, 2> fds{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  ChannelPair pair{.judge = Fd(fds[0]), .worker = Fd(fds[1])};
  const int on = 1;
  if (::setsockopt(pair.judge.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) {
    return Fail(ErrorKind::kIo, fmt::format("cannot set SO_PASSCRED: {}", std::strerror(errno)));
  }
  return pair;
}

}  // namespace roofmark::worker
