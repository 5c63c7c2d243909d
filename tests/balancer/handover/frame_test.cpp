#include "balancer/handover/channel.hpp"

#include <gtest/gtest.h>

namespace karmad {
namespace {

std::string bytes_of(const FrameHead& head) {
  const auto bytes = encode(head);
  return {bytes.begin(), bytes.end()};
}

TEST(TakeoverFrame, IsReadAsItWasWritten) {
  for (const auto kind : {FrameKind::hello, FrameKind::sockets, FrameKind::learned,
                          FrameKind::ready, FrameKind::released, FrameKind::refused}) {
    const FrameHead head{kind, 12345, 7};
    EXPECT_EQ(decode_head(bytes_of(head)), head);
  }
}

TEST(TakeoverFrame, RefusesNumbersBeyondItsBounds) {
  EXPECT_TRUE(decode_head(bytes_of({FrameKind::learned, kMostFrameText, 0})));
  EXPECT_EQ(decode_head(bytes_of({FrameKind::learned, kMostFrameText + 1, 0})).error(),
            "a frame of 16777217 bytes; at most 16777216 are read");
  EXPECT_TRUE(decode_head(bytes_of({FrameKind::sockets, 0, kMostFrameDescriptors})));
  EXPECT_EQ(decode_head(bytes_of({FrameKind::sockets, 0, 201})).error(),
            "a frame with 201 descriptors; at most 200 are taken");
  EXPECT_EQ(decode_head(bytes_of({static_cast<FrameKind>(7), 0, 0})).error(),
            "a frame of unknown kind 7");
  EXPECT_FALSE(decode_head(bytes_of({static_cast<FrameKind>(0), 0, 0})));
}

TEST(TakeoverFrame, RefusesOtherBytesAndOtherVersions) {
  EXPECT_FALSE(decode_head(""));
  EXPECT_FALSE(decode_head("GET / HTTP/1.1\r\n"));
  auto other = bytes_of({FrameKind::hello, 0, 0});
  other[4] = 9;
  EXPECT_EQ(decode_head(other).error(), "the other side speaks version 9 of the takeover, not 1");
  EXPECT_FALSE(decode_head(other.substr(0, 15)));
}

}  // namespace
}  // namespace karmad
