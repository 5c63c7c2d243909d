#include "balancer/trace/request_identity.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace karmad {
namespace {

constexpr std::string_view kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

TEST(RequestIdentity, AcceptsShortVisibleTextsAsRequestIds) {
  for (const auto* id : {"a", "7f3c", "f47ac10b-58cc-4372-a567-0e02b2c3d479", "a/b:c=d;e,f~!"})
    EXPECT_TRUE(is_valid_request_id(id)) << id;
  EXPECT_TRUE(is_valid_request_id(std::string(128, 'x')));
  EXPECT_FALSE(is_valid_request_id(std::string(129, 'x')));
  for (const auto* id : {"", "a b", "a\tb", "a\"b", "a'b", "a\\b", "a\x7f", "\xc3\xa4", "a\x01"})
    EXPECT_FALSE(is_valid_request_id(id)) << id;
}

TEST(RequestIdentity, MakesAnIdWhereTheClientHasNoValidOne) {
  SeededRandom random(1);
  EXPECT_EQ(request_id("abc", RequestIds::make, random).text(), "abc");
  EXPECT_EQ(request_id("abc", RequestIds::accept, random).text(), "abc");
  const auto made = request_id("a b", RequestIds::make, random);
  EXPECT_EQ(made.text().size(), 16U);
  EXPECT_EQ(made.text().find_first_not_of("0123456789abcdef"), std::string_view::npos);
  EXPECT_NE(made.text(), request_id({}, RequestIds::make, random).text());
  EXPECT_TRUE(request_id({}, RequestIds::accept, random).empty());
}

TEST(RequestIdentity, WritesAllDigitsOfAnId) {
  EXPECT_EQ(RequestId(std::uint64_t{0x00f067aa0ba902b7}).text(), "00f067aa0ba902b7");
}

TEST(RequestIdentity, ReadsATraceparent) {
  const auto context = parse_traceparent(kParent);
  EXPECT_EQ(context.trace_id, kTraceId);
  EXPECT_EQ(context.flags, "01");
}

TEST(RequestIdentity, IgnoresATraceparentThatIsNotValid) {
  for (const std::string value : {
           "", "00",
           "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",   // forbidden version
           "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",   // no version
           "00-00000000000000000000000000000000-00f067aa0ba902b7-01",   // no trace id
           "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",   // no parent id
           "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",   // capitals
           "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",   // no digit
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",    // too short
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g",   // no flags
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",  // too long
           "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
           "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01",
           "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",  // a longer last part
       })
    EXPECT_TRUE(parse_traceparent(value).empty()) << value;
}

TEST(RequestIdentity, KeepsOfALaterVersionWhatItKnows) {
  const auto sampled = parse_traceparent(
      "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0b-what-the-future-will-be-like");
  EXPECT_EQ(sampled.trace_id, kTraceId);
  EXPECT_EQ(sampled.flags, "01");
  EXPECT_EQ(parse_traceparent("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe").flags,
            "00");
}

/// The trace of a request with these fields.
TraceContext context_of(std::string_view fields, std::string& bytes, RequestHead& head) {
  bytes = fmt::format("GET / HTTP/1.1\r\nHost: h\r\n{}\r\n", fields);
  EXPECT_TRUE(parse_request_head(bytes, {}, head).has_value());
  return trace_context(head);
}

TEST(RequestIdentity, ReadsTheTraceOfARequest) {
  std::string bytes;
  RequestHead head;
  EXPECT_TRUE(context_of("Accept: */*\r\n", bytes, head).empty());
  const auto parent = fmt::format("Traceparent: {}\r\n", kParent);
  const auto context =
      context_of(parent + "tracestate: a=1\r\nTRACESTATE: b=2,c=3\r\n", bytes, head);
  EXPECT_EQ(context.trace_id, kTraceId);
  EXPECT_EQ(context.state, "a=1,b=2,c=3");
  EXPECT_EQ(context_of(parent + "tracestate: \r\n", bytes, head).state, "");
  EXPECT_TRUE(context_of(parent + parent, bytes, head).empty()) << "two traces";
  const auto none = context_of("traceparent: 00-0\r\ntracestate: a=1\r\n", bytes, head);
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.state, "") << "a state without a trace";
}

TEST(RequestIdentity, ContinuesATraceInASpanOfItsOwn) {
  const auto value = traceparent(parse_traceparent(kParent), 0x1234);
  EXPECT_EQ(std::string_view(value.data(), value.size()),
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000001234-01");
}

}  // namespace
}  // namespace karmad
