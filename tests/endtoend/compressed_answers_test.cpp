// Answers that are compressed for clients (`compress`).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "tests/support/fake_set.hpp"
#include "tests/support/gzip.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kTakesGzip = "Accept-Encoding: gzip, deflate\r\n";
constexpr std::string_view kTakesAll = "Accept-Encoding: gzip, deflate, br, zstd\r\n";

std::string hits(int from, int to) {
  std::string all;
  for (int id = from; id < to; ++id)
    all += fmt::format(R"({}{{"_id":{},"_score":{},"_source":{{"title":"lamp {}"}}}})",
                       id == from ? "" : ",", id, 10'000 - id, id);
  return fmt::format(
      R"({{"took":1,"timed_out":false,"hits":{{"total":{},"total_relation":"eq","hits":[{}]}}}})",
      to - from, all);
}

std::string in_chunks(std::string_view body, std::size_t step) {
  std::string out;
  for (; !body.empty(); body.remove_prefix(std::min(step, body.size()))) {
    const auto piece = body.substr(0, step);
    out += fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
  }
  return out;
}

std::string coding_of(const Response& answer) {
  const auto field = answer.fields.find("content-encoding");
  return field == answer.fields.end() ? "" : field->second;
}

struct CompressedAnswers : testing::Test {
  Response search(const Master& master, std::string_view fields, int limit = 20) const {
    return ask(master.port(), "POST", "/search",
               fmt::format(R"({{"table":"t","limit":{}}})", limit), fields);
  }

  FakeMirror mirror{always(json(hits(0, 100))), /*pings_too=*/true};
  FakeMirror second{always(json(hits(100, 200)))};
  std::string whole = table_of({mirror.address() + ":t"});
  std::string shards = table_of({mirror.address() + ":t", second.address() + ":t"});
};

TEST_F(CompressedAnswers, AreThoseOfClientsThatAskForIt) {
  for (const auto& table : {whole, shards}) {
    Master master(taking_turns("compress = zstd\n compress_share = 1"), table);
    const auto plain = without_took(search(master, "").body);
    for (const auto& [fields, coding] :
         std::array{std::pair{kTakesGzip, "gzip"}, std::pair{kTakesAll, "zstd"}}) {
      const auto answer = search(master, fields);
      ASSERT_EQ(answer.status, 200) << answer.body;
      EXPECT_EQ(coding_of(answer), coding);
      EXPECT_EQ(answer.fields.at("vary"), "Accept-Encoding");
      EXPECT_EQ(answer.fields.at("content-length"), std::to_string(answer.body.size()));
      EXPECT_LT(answer.body.size(), plain.size() / 2);
      EXPECT_EQ(without_took(unpacked(answer.body)), plain);
    }
    const auto refused = search(master, "Accept-Encoding: gzip;q=0, br\r\n");
    EXPECT_EQ(coding_of(refused), "");
    EXPECT_EQ(refused.fields.at("vary"), "Accept-Encoding");
    EXPECT_EQ(without_took(refused.body), plain);
    EXPECT_EQ(master.count("answers_compressed"), 2);
    EXPECT_LT(master.count("compressed_bytes_out"), master.count("compressed_bytes_in") / 2);
    ASSERT_TRUE(master.reload(taking_turns(), table));
    const auto off = search(master, kTakesAll);
    EXPECT_EQ(coding_of(off), "");
    EXPECT_FALSE(off.fields.contains("vary"));
  }
}

TEST_F(CompressedAnswers, OfPagesAboutKarmadToo) {
  const Master master(
      taking_turns(
          "compress = gzip\n compress_share = 1\n compress_min_size = 1\n compress_level = 9"),
      whole);
  for (const auto* path : {"/agents", "/metrics", "/status", "/dashboard"}) {
    const auto answer = ask(master.port(), "GET", path, {}, kTakesGzip);
    EXPECT_EQ(coding_of(answer), "gzip") << path;
    EXPECT_FALSE(unpacked(answer.body).empty()) << path;
  }
  HttpClient client(master.port());
  client.send(fmt::format("HEAD /agents HTTP/1.1\r\nHost: a\r\n{}\r\n", kTakesGzip));
  const auto head = client.receive(/*to_head=*/true);
  ASSERT_TRUE(head);
  EXPECT_EQ(coding_of(*head), "gzip");
  EXPECT_FALSE(head->fields.contains("content-length"));
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
}

TEST_F(CompressedAnswers, AreNotThoseThatAreShortOrErrors) {
  Master master(taking_turns("compress = gzip\n compress_share = 1"), whole);
  mirror.react(always(nothing_found()));
  const auto short_one = search(master, kTakesGzip);
  EXPECT_EQ(coding_of(short_one), "");
  EXPECT_FALSE(short_one.fields.contains("vary"));
  mirror.react(always(json(hits(0, 100))));
  ASSERT_TRUE(master.reload(taking_turns("compress = gzip\n compress_share = 0"), whole));
  EXPECT_EQ(coding_of(search(master, kTakesGzip)), "");
  EXPECT_EQ(master.count("answers_not_compressed"), 1);
}

/// A web server's answers, passed on by dialect `http`.
struct CompressedPages : CompressedAnswers {
  static std::string page(std::string_view fields, std::string_view body) {
    return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}\r\n{}", body.size(), fields,
                       body);
  }
  std::string opaque = fmt::format(
      "table w {{\n type = distributed\n dialect = http\n route = /w\n agent = {}\n"
      " pass_authorization = no\n}}\n",
      mirror.address());
  Master master{
      taking_turns("compress = zstd\n compress_share = 1\n allow_origin = https://a.example"),
      opaque};
  std::string text = std::string(5000, 'a') + "end";

  Response fetch(const std::string& reply, std::string_view fields = kTakesAll) {
    mirror.react(always({reply}));
    return ask(master.port(), "GET", "/w/x", {}, fields);
  }
};

TEST_F(CompressedPages, KeepTheAgentsFieldsAndWeakenItsTag) {
  const auto answer = fetch(page(
      "Content-Type: text/html; charset=x\r\nETag: \"a1\"\r\nVary: Cookie\r\nX-Own: 1\r\n", text));
  EXPECT_EQ(coding_of(answer), "zstd");
  EXPECT_EQ(unpacked(answer.body), text);
  EXPECT_EQ(answer.fields.at("content-type"), "text/html; charset=x");
  EXPECT_EQ(answer.fields.at("etag"), "W/\"a1\"");
  EXPECT_EQ(answer.fields.at("vary"), "Cookie, Origin, Accept-Encoding");
  EXPECT_EQ(answer.fields.at("x-own"), "1");
}

TEST_F(CompressedPages, LeaveOutWhatIsTrueOfTheAgentsBytesAndNameAFieldOnce) {
  const auto answer =
      fetch(page("Content-Type: text/css\r\nVary: accept-encoding\r\nDigest: sha-256=x\r\n"
                 "content-md5: x\r\nRepr-Digest: x\r\nAccept-Ranges: bytes\r\nX-Digest: y\r\n",
                 text));
  EXPECT_EQ(coding_of(answer), "zstd");
  EXPECT_EQ(answer.fields.at("vary"), "accept-encoding, Origin");
  for (const auto* name : {"digest", "content-md5", "repr-digest", "accept-ranges"})
    EXPECT_FALSE(answer.fields.contains(name)) << name;
  EXPECT_EQ(answer.fields.at("x-digest"), "y");
}

TEST_F(CompressedPages, LeaveAloneWhatTheAgentHasCodedOrForbids) {
  for (const auto* fields : {"Content-Type: text/html\r\nContent-Encoding: br\r\n",
                             "Content-Type: text/html\r\nCache-Control: public, No-Transform\r\n",
                             "Content-Type: text/html\r\nCache-Control: max-age=9\r\n"
                             "cache-control: no-transform\r\n",
                             "Content-Type: text/html\r\nContent-Range: bytes 0-5002/9000\r\n",
                             "Content-Type: image/png\r\n", "X-Own: no type\r\n"}) {
    const auto answer = fetch(page(fields, text));
    EXPECT_EQ(answer.body, text) << fields;
    EXPECT_FALSE(coding_of(answer) == "zstd" || coding_of(answer) == "gzip") << fields;
  }
}

TEST_F(CompressedPages, HaveTheFieldsOfTheirBodyAlsoWithoutIt) {
  const std::string type = "Content-Type: application/json\r\nETag: \"a1\"\r\nVary: Cookie\r\n";
  const auto fields_of = [&](const std::string& head, std::string_view fields = kTakesGzip) {
    mirror.react(always({head}));
    HttpClient client(master.port());
    client.send(fmt::format("HEAD /w/x HTTP/1.1\r\nHost: a\r\n{}\r\n", fields));
    return client.receive(/*to_head=*/true).value().fields;
  };
  const auto head_with = [&](std::string_view more) {
    return fmt::format("HTTP/1.1 200 OK\r\n{}{}\r\n", type, more);
  };
  for (const auto* length : {"Content-Length: 5003\r\n", "Transfer-Encoding: chunked\r\n"}) {
    auto fields = fields_of(head_with(length));
    EXPECT_EQ(fields["content-encoding"], "gzip") << length;
    EXPECT_EQ(fields["etag"], "W/\"a1\"") << length;
    EXPECT_EQ(fields["vary"], "Cookie, Origin, Accept-Encoding") << length;
    EXPECT_FALSE(fields.contains("content-length")) << length;
  }
  auto plain = fields_of(head_with("Content-Length: 5003\r\n"), "");
  EXPECT_EQ(plain["content-length"], "5003");
  EXPECT_EQ(plain["vary"], "Cookie, Origin, Accept-Encoding");
  auto small = fields_of(head_with("Content-Length: 1023\r\n"));
  EXPECT_EQ(small["content-length"], "1023");
  EXPECT_EQ(small["vary"], "Cookie, Origin");
  const auto unmodified = [&](std::string_view fields) {
    return fetch(fmt::format("HTTP/1.1 304 Not Modified\r\n{}\r\n", fields)).fields;
  };
  auto fresh = unmodified("ETag: \"a1\"\r\nVary: Cookie\r\nContent-Length: 5003\r\n");
  EXPECT_EQ(fresh["vary"], "Cookie, Origin, Accept-Encoding");
  EXPECT_EQ(fresh["etag"], "W/\"a1\"") << "that of the answer which the client has";
  EXPECT_FALSE(fresh.contains("content-length") || fresh.contains("content-encoding"));
  EXPECT_EQ(unmodified("Content-Type: image/png\r\n")["vary"], "Origin");
}

TEST_F(CompressedPages, OfAnyLengthPassWhileTheyArrive) {
  std::string large;
  for (int i = 0; large.size() < 3'000'000; ++i) large += fmt::format("{{\"n\":{}}}\n", i * 31);
  const auto type = std::string("Content-Type: application/x-ndjson\r\n");
  const auto open = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n" + type + "\r\n" +
                    in_chunks(large, 50'000) + "0\r\n\r\n";
  for (const auto& reply : {page(type, large), open})
    for (const auto fields : {kTakesGzip, kTakesAll}) {
      const auto answer = fetch(reply, fields);
      EXPECT_EQ(coding_of(answer), fields == kTakesGzip ? "gzip" : "zstd");
      EXPECT_LT(answer.body.size(), large.size() / 2);
      EXPECT_EQ(unpacked(answer.body), large);
    }
}

TEST_F(CompressedPages, ShowEachEventOfAStreamAtOnce) {
  const std::string head =
      "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
  Reaction reaction{head + in_chunks("data: one\n\n", 99) + in_chunks("data: two\n\n", 99) +
                    "0\r\n\r\n"};
  reaction.held_from = (head + in_chunks("data: one\n\n", 99)).size();
  mirror.react(always(reaction));
  HttpClient client(master.port());
  client.send(fmt::format("GET /w/x HTTP/1.1\r\nHost: a\r\n{}\r\n", kTakesGzip));
  // The head and the first event, together 192 bytes, are there while the second is held back.
  EXPECT_TRUE(client.has(185));
  mirror.send_rest();
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(coding_of(*answer), "gzip");
  EXPECT_EQ(unpacked(answer->body), "data: one\n\ndata: two\n\n");
  EXPECT_EQ(client.request("GET", "/healthz")->status, 200);
}

TEST_F(CompressedPages, AreBrokenOffWithTheAgentsAnswer) {
  mirror.react(
      always({"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: "
              "9000000\r\n\r\n" +
                  std::string(4'000'000, 'x'),
              Reaction::Then::close}));
  HttpClient client(master.port());
  client.send(fmt::format("GET /w/x HTTP/1.1\r\nHost: a\r\n{}\r\n", kTakesGzip));
  client.rest();
  EXPECT_TRUE(client.was_reset());
  EXPECT_EQ(master.count("replies_broken_off"), 1);
}

}  // namespace
}  // namespace karmad::test
