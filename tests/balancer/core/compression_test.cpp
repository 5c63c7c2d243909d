#include "balancer/core/compression.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/gzip.hpp"

namespace karmad {
namespace {

using namespace std::chrono_literals;

constexpr TimePoint kNeverLate{};

struct WantedCase {
  std::string_view accepted;
  Compress allowed;
  Coding wanted;
};

TEST(WantedCoding, IsTheOneWithTheHighestWeightAndZstdBeforeGzip) {
  using enum Coding;
  const std::array cases{
      WantedCase{"", Compress::zstd, identity},
      WantedCase{"gzip", Compress::off, identity},
      WantedCase{"gzip", Compress::gzip, gzip},
      WantedCase{"GZIP, deflate, br", Compress::zstd, gzip},
      WantedCase{"gzip, deflate, br, zstd", Compress::zstd, zstd},
      WantedCase{"gzip, deflate, br, zstd", Compress::gzip, gzip},
      WantedCase{"zstd", Compress::gzip, identity},
      WantedCase{"gzip;q=1.0, zstd;q=0.5", Compress::zstd, gzip},
      WantedCase{"gzip;q=0.3, zstd;q=0.301", Compress::zstd, zstd},
      WantedCase{"gzip;q=0", Compress::zstd, identity},
      WantedCase{"gzip;q=0.000", Compress::gzip, identity},
      WantedCase{"*", Compress::gzip, gzip},
      WantedCase{"*", Compress::zstd, zstd},
      WantedCase{"*;q=0.2, zstd;q=0", Compress::zstd, gzip},
      WantedCase{"*;q=0, gzip ; Q=0.1", Compress::zstd, gzip},
      WantedCase{"identity", Compress::zstd, identity},
      WantedCase{"identity;q=0.5, *;q=0.1", Compress::gzip, identity},
      WantedCase{"gzip;q=0.4, identity;q=0.6, zstd;q=0.5", Compress::zstd, identity},
      WantedCase{"identity;q=0.5, gzip;q=0.5", Compress::gzip, gzip},
      WantedCase{"identity;q=0.2, zstd;q=0.3", Compress::zstd, zstd},
      WantedCase{"x-gzip", Compress::gzip, gzip},
      WantedCase{"gzip;q=high", Compress::gzip, identity},
      WantedCase{"gzip;level=9", Compress::gzip, identity},
      WantedCase{"br, deflate", Compress::zstd, identity},
  };
  for (const auto& each : cases)
    EXPECT_EQ(wanted_coding(each.accepted, each.allowed), each.wanted) << each.accepted;
}

TEST(WantedCoding, IsOfAllFieldsOfThatName) {
  const auto of = [](std::string_view lines) {
    const auto text = fmt::format("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", lines);
    RequestHead head;
    EXPECT_TRUE(parse_request_head(text, {}, head)) << lines;
    return wanted_coding(head, Compress::zstd);
  };
  EXPECT_EQ(of(""), Coding::identity);
  EXPECT_EQ(of("Accept-Encoding: gzip\r\n"), Coding::gzip);
  EXPECT_EQ(of("Accept-Encoding: br\r\naccept-encoding: gzip\r\n"), Coding::gzip);
  EXPECT_EQ(of("Accept-Encoding:\r\nVia: 1.1 a\r\nAccept-Encoding: gzip;q=0.5\r\n"
               "Accept-Encoding: deflate, zstd;q=0.7\r\n"),
            Coding::zstd);
  EXPECT_EQ(of("Accept-Encoding: gzip;q=0.5\r\nAccept-Encoding: identity\r\n"), Coding::identity);
}

TEST(CompressibleTypes, AreTexts) {
  for (const auto* type :
       {"application/json; charset=UTF-8", "text/plain", "application/x-ndjson", "TEXT/HTML",
        "application/vnd.elasticsearch+json;compatible-with=8", "image/svg+xml", "application/xml",
        "text/javascript", "text/event-stream"})
    EXPECT_TRUE(is_compressible(type)) << type;
  for (const auto* type : {"", "image/png", "application/octet-stream", "application/zip",
                           "application/smile", "application/cbor"})
    EXPECT_FALSE(is_compressible(type)) << type;
}

std::string body_of(std::size_t size) {
  std::string body;
  for (std::size_t i = 0; body.size() < size; ++i)
    body += R"({"_id":)" + std::to_string(i * 7919 % 10007) + R"(,"_score":1.5},)";
  body.resize(size);
  return body;
}

TEST(Compressor, GivesBodiesOfAnySizeBackOneAfterTheOther) {
  for (const auto coding : {Coding::gzip, Coding::zstd})
    for (const int level : {1, 5, 9}) {
      Compressor compressor(coding, level);
      for (const std::size_t size : {0u, 1u, 511u, 4096u, 1'000'003u}) {
        const auto body = body_of(size);
        std::string packed;
        std::string_view left = body;
        do {
          const auto piece = left.substr(0, 100'000);
          left.remove_prefix(piece.size());
          compressor.put(piece, left.empty() ? Compressor::Then::end : Compressor::Then::more,
                         packed);
        } while (!left.empty());
        EXPECT_EQ(test::unpacked(packed), body) << text(coding) << ' ' << size;
        EXPECT_LT(packed.size(), size / 2 + 500);
      }
      EXPECT_GT(compressor.memory(), 100'000U);
      EXPECT_LT(compressor.memory(), 1'000'000U);
    }
}

TEST(Compressor, LetsAPieceBeReadBeforeThePause) {
  for (const auto coding : {Coding::gzip, Coding::zstd}) {
    Compressor compressor(coding, 1);
    std::string packed;
    compressor.put("data: one\n\n", Compressor::Then::pause, packed);
    EXPECT_EQ(test::unpacked(packed), "data: one\n\n") << text(coding);
    compressor.put("data: two\n\n", Compressor::Then::pause, packed);
    EXPECT_EQ(test::unpacked(packed), "data: one\n\ndata: two\n\n") << text(coding);
  }
}

TEST(TimeShare, LetsWorkTakeItsPartOfTheTimeOnAverage) {
  for (const double share : {0.05, 0.25, 0.8}) {
    TimeShare work;
    TimePoint now{1h};
    auto worked = 0ms;
    for (int i = 0; i < 100'000; ++i, now += 1ms)
      if (work.allows(share, now, kNeverLate)) {
        work.took(3ms);
        worked += 3ms;
      }
    EXPECT_NEAR(static_cast<double>(worked.count()) / 100'000, share, 0.02) << share;
  }
}

TEST(TimeShare, OfZeroIsNoTimeAndOfOneAllOfIt) {
  TimeShare none;
  TimeShare all;
  const TimePoint now{1h};
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(none.allows(0, now, kNeverLate));
    EXPECT_TRUE(all.allows(1, now, now));
    all.took(10s);
  }
}

TEST(TimeShare, IsNothingWhileTheThreadIsLate) {
  TimeShare work;
  const TimePoint late{1h};
  EXPECT_TRUE(work.allows(0.5, late - 1ms, kNeverLate));
  EXPECT_FALSE(work.allows(0.5, late, late));
  EXPECT_FALSE(work.allows(0.5, late + 199ms, late));
  EXPECT_TRUE(work.allows(0.5, late + 200ms, late));
}

}  // namespace
}  // namespace karmad
