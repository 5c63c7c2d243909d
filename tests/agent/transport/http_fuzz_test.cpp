#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>

#include "agent/transport/http/http_head.hpp"
#include "agent/transport/http/http_write.hpp"
#include "tests/agent/transport/exact_bytes.hpp"

namespace karmad {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t limit) {
  return random() % limit;
}

constexpr std::array<std::string_view, 5> kRequests{
    "POST /search?a=b HTTP/1.1\r\nHost: a:80\r\nContent-Length: 12\r\nConnection: x, close\r\n\r\n",
    "GET http://h.example/p?q HTTP/1.1\r\nHost: h.example\r\nAccept: text/html, */*;q=0.1\r\n\r\n",
    "\r\nPUT /x HTTP/1.1\r\nHost: [::1]:9\r\nTransfer-Encoding: chunked\r\nExpect: "
    "100-continue\r\n\r\n",
    "OPTIONS * HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 512\r\n\r\n",
};

constexpr std::string_view kChunked =
    "5;ext=\"1\"\r\nhello\r\n1f\r\n0123456789abcdef0123456789abcde\r\n0\r\nA: b\r\n\r\n";

/// Changes, inserts, removes or repeats a few bytes; those that matter to HTTP more often.
std::string mutated(std::string text, Random& random) {
  constexpr std::string_view marks = "\r\n\r\n :,;\t/*?#[]%0159afchunked-HTTP\x16\x7f\xff";
  for (auto changes = 1 + below(random, 3); changes > 0 && !text.empty(); --changes) {
    const auto at = below(random, text.size());
    const char byte =
        random() % 4 == 0 ? static_cast<char>(random()) : marks[below(random, marks.size())];
    switch (random() % 4) {
      case 0:
        text[at] = byte;
        break;
      case 1:
        text.insert(at, 1, byte);
        break;
      case 2:
        text.erase(at, 1 + below(random, 3));
        break;
      default:
        text.insert(at, text.substr(below(random, text.size()), below(random, 40)));
    }
  }
  return text;
}

bool inside(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

template <class Head>
void expect_sound(const Head& head, std::string_view bytes) {
  ASSERT_LE(head.size, bytes.size());
  for (const auto& field : head.all()) {
    ASSERT_TRUE(inside(field.name, bytes) && inside(field.value, bytes));
    ASSERT_EQ(field.value.find_first_of(std::string_view{"\r\n\0", 3}), std::string_view::npos);
  }
}

/// What passes one strict reading passes a second one, and means the same, after we wrote it anew.
void expect_stable(const RequestHead& head) {
  std::string out;
  write_request_head(out, {.method = head.method,
                           .target = head.target.front() == '/' ? head.target : "/",
                           .host = "agent",
                           .content_length = head.content_length,
                           .passed_on = &head});
  RequestHead again;
  ASSERT_EQ(parse_request_head(out, {.size = 1 << 20}, again), HeadState::complete) << out;
  ASSERT_EQ(again.content_length, head.content_length);
  ASSERT_EQ(again.framing, Framing::length);
}

TEST(HttpFuzz, MutatedHeadsAreAcceptedSoundlyOrRefused) {
  Random random{2};
  RequestHead request;
  ResponseHead response;
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (int i = 0; i < 150'000; ++i) {
    const ExactBytes exact{mutated(std::string{kRequests[below(random, 5)]}, random)};
    const std::string_view bytes = exact;
    const auto state = parse_request_head(bytes, {}, request);
    if (!state) {
      ++refused;
      ASSERT_GE(state.error().status, 400);
      ASSERT_FALSE(state.error().reason.empty());
    } else if (*state == HeadState::complete) {
      ++accepted;
      expect_sound(request, bytes);
      expect_stable(request);
    }
    if (parse_response_head(bytes, {}, random() % 2 == 0, response) == HeadState::complete)
      expect_sound(response, bytes);
    if (HasFatalFailure()) FAIL() << bytes;
  }
  EXPECT_GT(accepted, 10'000u);  // or the test would not test much
  EXPECT_GT(refused, 10'000u);
}

// A refusal is final: more bytes never turn it into an acceptance, and the other way round.
TEST(HttpFuzz, AVerdictOnAPrefixHoldsForTheWhole) {
  Random random{3};
  RequestHead head;
  for (int i = 0; i < 20'000; ++i) {
    const auto text = mutated(std::string{kRequests[below(random, 4)]}, random);
    const auto cut = below(random, text.size() + 1);
    const auto early = parse_request_head(text.substr(0, cut), {.size = 128}, head);
    const auto early_size = head.size;
    const auto late = parse_request_head(text, {.size = 128}, head);
    if (!early) {
      ASSERT_TRUE(!late && late.error().status == early.error().status) << text;
    } else if (*early == HeadState::complete) {
      ASSERT_TRUE(late == HeadState::complete && head.size == early_size) << text;
    }
  }
}

TEST(HttpFuzz, MutatedChunkedBodiesMeanTheSameInOnePieceAndInMany) {
  Random random{4};
  for (int i = 0; i < 50'000; ++i) {
    const auto text = mutated(std::string{kChunked}, random);
    std::string whole;
    ChunkedBody one{64};
    const auto used = one.put(ExactBytes{text}, whole);
    ASSERT_LE(whole.size(), 64u);
    std::string pieces;
    ChunkedBody many{64};
    bool failed = false;
    for (std::size_t at = 0; at < text.size() && !failed && !many.done();) {
      const auto step = many.put(ExactBytes{text.substr(at, 1 + below(random, 8))}, pieces);
      failed = !step;
      if (step) at += *step;
    }
    ASSERT_EQ(failed, !used.has_value()) << text;
    ASSERT_EQ(many.done(), one.done()) << text;
    ASSERT_EQ(pieces, whole) << text;
  }
}

}  // namespace
}  // namespace karmad
