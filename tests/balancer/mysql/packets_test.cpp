#include "balancer/mysql/messages.hpp"

#include <gtest/gtest.h>

#include <array>

namespace karmad::mysql {
namespace {

using State = Framing::State;

std::string one_packet(std::string_view payload, std::uint8_t sequence = 0) {
  std::string out;
  Writer packets(out, sequence);
  packets.begin();
  packets.bytes(payload);
  packets.end();
  return out;
}

TEST(MysqlPackets, HaveTheirLengthAndNumberBeforeThePayload) {
  EXPECT_EQ(one_packet("abc", 7), std::string("\3\0\0\7abc", 7));
}

TEST(MysqlPackets, OfALongPayloadContinueInAFurtherOneEvenIfItIsEmpty) {
  const struct {
    std::size_t payload;
    std::size_t packets;
  } cases[] = {{kLongestPacket - 1, 1}, {kLongestPacket, 2}, {2 * kLongestPacket + 5, 3}};
  for (const auto& c : cases) {
    std::string payload(c.payload, 'x');
    for (std::size_t i = 0; i < payload.size(); i += 1021) payload[i] = static_cast<char>(i >> 10);
    payload.back() = 'z';
    auto bytes = one_packet(payload, 250);
    bytes += "next";
    const auto framing = frame_packets(bytes, 250, c.payload);
    EXPECT_EQ(framing.state, State::complete);
    EXPECT_EQ(framing.packets, c.packets);
    EXPECT_EQ(framing.size, bytes.size() - 4);
    EXPECT_EQ(frame_packets(bytes, 250, c.payload - 1).state, State::too_large);
    EXPECT_TRUE(join_packets(bytes, framing) == payload);
    EXPECT_EQ(bytes.size(), kPacketHeader + c.payload + 4);
    EXPECT_TRUE(bytes.ends_with("next"));
  }
}

TEST(MysqlPackets, AreIncompleteAtEveryByteBeforeTheirEnd) {
  const auto bytes = one_packet("a statement");
  for (std::size_t have = 0; have < bytes.size(); ++have) {
    const auto framing = frame_packets(std::string_view(bytes).substr(0, have), 0, 100);
    EXPECT_EQ(framing.state, State::incomplete);
    EXPECT_GT(framing.size, have);
  }
}

TEST(MysqlPackets, WithAWrongNumberAreRefusedAtTheirHeader) {
  EXPECT_EQ(frame_packets(one_packet("", 1), 0, 100).state, State::out_of_order);
}

TEST(Fields, ReadWhatWasWritten) {
  std::string out;
  Writer packets(out);
  packets.begin();
  const std::array<std::uint64_t, 8> lengths{0,      0xfa,     0xfb,         0xffff,
                                             65'536, 0xffffff, 0x1'00'00'00, ~std::uint64_t{0}};
  for (const auto length : lengths) packets.length(length);
  packets.text("text");
  packets.text_and_zero("zero");
  packets.integer(0x123456789a, 5);
  packets.end();
  Fields fields(std::string_view(out).substr(kPacketHeader));
  for (const auto length : lengths) EXPECT_EQ(fields.length(), length);
  EXPECT_EQ(fields.text(), "text");
  EXPECT_EQ(fields.text_to_zero(), "zero");
  EXPECT_EQ(fields.integer(5), 0x123456789aU);
  EXPECT_TRUE(fields.ok() && fields.rest().empty());
  EXPECT_EQ(fields.integer(1), 0U);
  EXPECT_FALSE(fields.ok());
}

TEST(Fields, NeverReadBeyondTheirEnd) {
  for (const std::string_view bytes :
       {std::string_view("\xff", 1), std::string_view("\xfb", 1), std::string_view("\xfe\1", 2),
        std::string_view("\xfe\xff\xff\xff\xff\xff\xff\xff\xff", 9),
        std::string_view("\5abc", 4)}) {
    Fields fields(bytes);
    EXPECT_EQ(fields.text(), "");
    EXPECT_FALSE(fields.ok());
  }
  Fields endless("no zero byte");
  endless.text_to_zero();
  EXPECT_FALSE(endless.ok());
}

}  // namespace
}  // namespace karmad::mysql
