// SPDX-License-Identifier: Apache-2.0
#include "worker/channel.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/testing.h"

namespace roofmark::worker {
namespace {

// The judge's end, and a raw socket in place of a worker.
class ChannelTest : public ::testing::Test {
 protected:
  ChannelTest() : pair_(std::move(MakeChannelPair()).value()), judge_(std::move(pair_.judge)) {}

  void Write(std::string_view bytes) {
    ASSERT_EQ(::send(pair_.worker.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void WriteFrame(uint32_t length, std::string_view bytes) {
    std::string frame(sizeof length, '\0');
    std::memcpy(frame.data(), &length, sizeof length);
    Write(frame + std::string(bytes));
  }
  ChannelFault Fault() {
    const auto message = judge_.Receive(After(0.05));
    EXPECT_FALSE(message.has_value());
    return message.error().fault;
  }

  ChannelPair pair_;
  Channel judge_;
};

TEST_F(ChannelTest, CarriesLargeMessagesDescriptorsAndTheSender) {
  const Json sent = Json::MakeObject().Set("text", std::string(5 << 20, 'x'));
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  const std::array<int, 1> fds = {memory.get()};
  Channel worker(std::move(pair_.worker));
  std::jthread sender([&] { EXPECT_TRUE(worker.Send(sent, fds, After(10)).has_value()); });
  const auto got = judge_.Receive(After(10));
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->json, sent);
  ASSERT_EQ(got->fds.size(), 1U);
  EXPECT_GE(got->fds[0].get(), 0);
  EXPECT_EQ(got->sender, ::getpid());
}

TEST_F(ChannelTest, MessagesThatArriveInPiecesAreKept) {
  WriteFrame(11, "{\"ok\"");
  EXPECT_EQ(Fault(), ChannelFault::kTimeout);
  Write(":true}");
  EXPECT_TRUE(judge_.Receive(After(1)).has_value());
  EXPECT_FALSE(judge_.HasUnread());
}

TEST_F(ChannelTest, AnOversizeLengthIsRubbish) {
  WriteFrame(kMaxMessageBytes + 1, "");
  EXPECT_EQ(Fault(), ChannelFault::kRubbish);
}

TEST_F(ChannelTest, WhatIsNoJsonObjectIsRubbish) {
  WriteFrame(4, "nope");
  EXPECT_EQ(Fault(), ChannelFault::kRubbish);
}

TEST_F(ChannelTest, AnArrayIsRubbish) {
  WriteFrame(2, "[]");
  EXPECT_EQ(Fault(), ChannelFault::kRubbish);
}

TEST_F(ChannelTest, DeepNestingIsRubbishBeforeAnyParserSeesIt) {
  const std::string deep(100'000, '[');
  WriteFrame(static_cast<uint32_t>(deep.size()), deep);
  EXPECT_EQ(Fault(), ChannelFault::kRubbish);
}

TEST_F(ChannelTest, ATruncatedMessageAndAClosedSocketEndTheWait) {
  WriteFrame(100, "{\"ok\":");
  pair_.worker.reset();
  EXPECT_EQ(Fault(), ChannelFault::kClosed);
}

TEST_F(ChannelTest, ANonReaderEndsTheSendAtItsDeadline) {
  const Json large = Json::MakeObject().Set("text", std::string(8 << 20, 'x'));
  const auto sent = judge_.Send(large, {}, After(0.05));
  ASSERT_FALSE(sent.has_value());
  EXPECT_EQ(sent.error().fault, ChannelFault::kTimeout);
}

TEST_F(ChannelTest, DescriptorsOfAWorkerAreClosedWithTheMessage) {
  Channel worker(std::move(pair_.worker));
  const Fd memory(::memfd_create("test", MFD_CLOEXEC));
  const std::array<int, 1> fds = {memory.get()};
  ASSERT_TRUE(worker.Send(Json::MakeObject(), fds, After(1)).has_value());
  int received = -1;
  {
    const auto got = judge_.Receive(After(1));
    ASSERT_TRUE(got.has_value());
    received = got->fds.at(0).get();
    ASSERT_EQ(::fcntl(received, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(::fcntl(received, F_GETFD), -1);
}

}  // namespace
}  // namespace roofmark::worker
