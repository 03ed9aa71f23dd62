// SPDX-License-Identifier: Apache-2.0
//
// Sends the judge thousands of open descriptors, until it can open nothing more.

#include "judge_socket.h"
#include "right_norm.h"

extern "C" int run(const rms_norm_args* args, void* /*workspace*/, void* /*stream*/) {
  Right(*args, Out(args));
  for (int i = 0; i < 4000; ++i) {
    int fds[200];
    for (int& fd : fds) fd = 0;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof fds)] = {};
    char byte = ' ';
    iovec part = {&byte, 1};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fds);
    std::memcpy(CMSG_DATA(rights), fds, sizeof fds);
    if (sendmsg(JudgeSocket(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) break;
  }
  return 0;
}
