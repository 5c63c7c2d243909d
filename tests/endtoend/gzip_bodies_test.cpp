// Request bodies that come as gzip.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>

#include "tests/support/fake_set.hpp"
#include "tests/support/gzip.hpp"

namespace karmad::test {
namespace {

const std::string kPackedSearch(R"({"table":"t","query":{"match_all":{}}})");

std::string encoded(std::string_view as) {
  return fmt::format("Content-Encoding: {}\r\n", as);
}
const std::string kGzip = encoded("gzip");

std::string body_of(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}
bool has_field(std::string request, const std::string& name) {
  std::ranges::transform(request, request.begin(), [](unsigned char c) { return std::tolower(c); });
  return request.contains("\r\n" + name + ":");
}

class GzipBodies : public testing::Test {
 protected:
  FakeMirror mirror{always(nothing_found())};
  std::string table = table_of({mirror.address() + ":t"}, "updates = any");

  Response send(const Master& master, std::string_view body, std::string_view fields = kGzip,
                std::string_view path = "/search") {
    return ask(master.port(), "POST", path, body, fields);
  }
};

TEST_F(GzipBodies, ReachTheMirrorAsPlainOnes) {
  RestingMaster master(taking_turns(), table);
  const auto packed = gzip(kPackedSearch);
  const auto half = kPackedSearch.size() / 2;
  const auto members = gzip(kPackedSearch.substr(0, half)) + gzip(kPackedSearch.substr(half), 0);
  for (const auto& [body, fields] : {std::pair{packed, kGzip},
                                     {packed, encoded("x-gzip")},
                                     {packed, encoded("GZip")},
                                     {members, kGzip},
                                     {kPackedSearch, encoded("identity")}}) {
    const auto answer = send(master, body, fields);
    ASSERT_EQ(answer.status, 200) << fields << answer.body;
    const auto seen = mirror.seen().back();
    EXPECT_EQ(body_of(seen), kPackedSearch);
    EXPECT_FALSE(has_field(seen, "content-encoding"));
    EXPECT_TRUE(seen.contains(fmt::format("Content-Length: {}\r\n", kPackedSearch.size())));
  }
  EXPECT_EQ(master.count("bodies_unpacked"), 4);
}

TEST_F(GzipBodies, OfStatementsAndUpdatesAreUnderstood) {
  RestingMaster master(taking_turns(), table);
  mirror.react(always(json(R"([{"total":0,"error":"","warning":"","data":[]}])")));
  ASSERT_EQ(send(master, gzip("query=SELECT * FROM t"), kGzip, "/sql?mode=raw").status, 200);
  EXPECT_EQ(body_of(mirror.seen().back()), "query=SELECT * FROM t");
  EXPECT_EQ(send(master, gzip("SHOW TABLES"), kGzip, "/cli").status, 200);
  mirror.react(always(inserted()));
  const std::string insert = R"({"table":"t","id":1,"doc":{"a":1}})";
  ASSERT_EQ(send(master, gzip(insert), kGzip, "/insert").status, 200);
  EXPECT_EQ(body_of(mirror.seen().back()), insert);
}

TEST_F(GzipBodies, AreMergedLikeOthers) {
  FakeMirror second(always(nothing_found()));
  RestingMaster master(taking_turns(),
                       table_of({mirror.address() + ":t", second.address() + ":t"}));
  EXPECT_EQ(send(master, gzip(kPackedSearch)).status, 200);
  EXPECT_EQ(mirror.requests() + second.requests(), 2u);
}

TEST_F(GzipBodies, ThatAreBrokenAreOneClearError) {
  RestingMaster master(taking_turns("max_packet_size = 4M"), table);
  const auto packed = gzip(kPackedSearch);
  const struct {
    std::string body;
    std::string encoding;
    int status;
    std::string_view says;
  } cases[] = {
      {packed.substr(0, packed.size() / 2), "gzip", 400, "ends too early"},
      {packed + "garbage", "gzip", 400, "not valid gzip"},
      {kPackedSearch, "gzip", 400, "incorrect header"},
      {gzip(std::string(3 << 20, ' '), 9), "gzip", 400, "200 times"},
      {gzip(std::string(5 << 20, 'x'), 0).substr(0, 4 << 20), "gzip", 400, "ends too early"},
      {packed, "br", 415, "gzip"},
      {packed, "deflate", 415, "gzip"},
      {packed, "gzip, gzip", 415, "gzip"},
      {packed, "gzip\r\nContent-Encoding: gzip", 415, "'gzip, gzip'"},
      {packed, "identity", 400, ""},
  };
  for (const auto& c : cases) {
    const auto answer = send(master, c.body, encoded(c.encoding));
    EXPECT_EQ(answer.status, c.status) << c.encoding << ": " << answer.body;
    EXPECT_TRUE(answer.body.contains(c.says)) << c.encoding << ": " << answer.body;
  }
  // Text that packs ten times, and is larger than max_packet_size.
  std::string large;
  while (large.size() < 5 << 20) large += fmt::format(R"({{"id":{}}})", large.size());
  const auto answer = send(master, gzip(large));
  EXPECT_EQ(answer.status, 413) << answer.body;
  EXPECT_TRUE(answer.body.contains("max_packet_size")) << answer.body;
  EXPECT_EQ(mirror.requests(), 0u);
}

TEST_F(GzipBodies, PassThroughToUnknownServersAsTheyAre) {
  RestingMaster master(taking_turns(), table_of({mirror.address() + ":t"},
                                                "dialect = http\n route = /x\n reads = /x/*"));
  const auto packed = gzip(kPackedSearch);
  for (const auto& encoding : {kGzip, encoded("br")}) {
    ASSERT_EQ(send(master, packed, encoding, "/x/_search").status, 200);
    const auto seen = mirror.seen().back();
    EXPECT_EQ(body_of(seen), packed);
    EXPECT_TRUE(has_field(seen, "content-encoding"));
  }
}

// Their memory counts once they are unpacked.
TEST_F(GzipBodies, AreBoundedByTheMemoryLimit) {
  RestingMaster master(taking_turns("max_packet_size = 128M\n memory_limit = 16M"), table);
  std::string large;
  while (large.size() < 40 << 20) large += fmt::format(R"({{"id":{}}})", large.size());
  EXPECT_EQ(send(master, gzip(large)).status, 429);
  EXPECT_TRUE(eventually([&] { return master.count("memory_used") == 0; }));
  EXPECT_EQ(send(master, gzip(kPackedSearch)).status, 200);
}

// A worker that unpacks many megabytes serves its other clients in between.
TEST_F(GzipBodies, ThatAreLargeDoNotHoldTheWorker) {
  RestingMaster master(taking_turns("max_packet_size = 256M\n request_timeout = 5m"), table);
  std::string large = R"({"table":"t","query":{"match_all":{}},"x":")";
  while (large.size() < 30 << 20) large += fmt::format("{:x}", large.size() * 2654435761u);
  large += "\"}";
  const auto packed = gzip(large, 1);
  HttpClient client(master.port());
  ASSERT_TRUE(client.send(fmt::format("POST /search HTTP/1.1\r\nHost: a\r\n{}Content-Length: {}\r\n"
                                      "\r\n",
                                      kGzip, packed.size()) +
                          packed));
  std::size_t answered = 0;
  HttpClient other(master.port());
  while (mirror.requests() == 0 && answered < 1'000'000) {
    const auto health = other.request("GET", "/healthz");
    ASSERT_TRUE(health);
    ++answered;
  }
  EXPECT_GT(answered, 20u);
  const auto answer = client.receive(false, std::chrono::minutes(1));
  ASSERT_TRUE(answer);
  EXPECT_EQ(body_of(mirror.seen().back()).size(), large.size());
}

}  // namespace
}  // namespace karmad::test
