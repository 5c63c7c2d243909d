#include "agent/transport/exchange.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace karmad {
namespace {

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nX-Tag: a\r\nConnection: close, X-Tag\r\nX-Empty:\r\n"
    "x-tag: b\r\n\r\n";

TEST(ReplyFields, AreThoseOfTheHeadWhereverItsBytesAre) {
  ResponseHead parsed;
  auto first = std::make_unique<std::string>(kHead);
  ASSERT_EQ(parse_response_head(*first, {}, false, parsed), HeadState::complete);
  const ReplyFields fields(parsed, *first);
  const auto moved = *first + "and a body";
  first.reset();
  EXPECT_EQ(fields.find("X-TAG", moved), "a");
  EXPECT_EQ(fields.find("X-Empty", moved), "");
  EXPECT_EQ(fields.find("X-None", moved), "");

  ResponseHead again;
  again.fields[0] = {"left", "over"};
  fields.restore(again, moved);
  ASSERT_EQ(again.all().size(), 5U);
  EXPECT_EQ(again.all()[0].name, "Content-Length");
  EXPECT_EQ(again.all()[3].name, "X-Empty");
  EXPECT_EQ(again.all()[3].value, "");
  EXPECT_EQ(again.all()[4].value, "b");
  EXPECT_EQ(again.find("content-length"), "7");
  EXPECT_EQ(again.content_length, 7U);
  EXPECT_TRUE(is_hop_by_hop(again, "X-Tag")) << "Connection names it";
  EXPECT_FALSE(is_hop_by_hop(again, "X-Empty"));
}

}  // namespace
}  // namespace karmad
