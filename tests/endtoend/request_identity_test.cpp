// A request has the same id, and belongs to the same trace, in the logs of clients and agents.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kFind = R"({"table":"t"})";
constexpr std::string_view kTrace = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr std::string_view kTraceFields =
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
    "tracestate: a=1\r\ntracestate: b=2\r\n";

/// The value of a field in a request; fails if it is there twice.
std::string value_of(const std::string& request, std::string_view name) {
  const auto line = fmt::format("\r\n{}: ", name);
  const auto at = request.find(line);
  if (at == request.npos) return {};
  EXPECT_EQ(request.find(line, at + 1), request.npos) << request;
  const auto begin = at + line.size();
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

struct RequestIds : testing::Test {
  FakeMirror a{[](const std::string&) { return nothing_found(); }};
  FakeMirror b{[](const std::string&) { return nothing_found(); }};
  FakeMirror unknown{[](const std::string&) {
    return Reaction{"HTTP/1.1 200 OK\r\nX-Request-Id: agent\r\nContent-Length: 0\r\n\r\n"};
  }};
  std::string tables = fmt::format(
      "table t {{\n type = distributed\n agent = {}:x\n}}\n"
      "table both {{\n type = distributed\n agent = {}|{}:x\n ha_strategy = roundrobin\n}}\n"
      "table copied {{\n type = distributed\n agent = {}:x\n agent_blackhole = {}:x\n}}\n"
      "table http {{\n type = distributed\n dialect = http\n route = /http\n agent = {}\n}}\n",
      a.address(), a.address(), b.address(), a.address(), b.address(), unknown.address());
  const std::string searchd = "ha_ping_interval = 0";
};

TEST_F(RequestIds, OfAClientReachTheAgentAndComeBack) {
  const Master master(searchd, tables);
  const auto answer = master.search(kFind, "X-Request-ID: f47ac10b-58cc\r\n");
  EXPECT_EQ(answer.fields.at("x-request-id"), "f47ac10b-58cc");
  EXPECT_EQ(value_of(a.seen().at(0), "X-Request-Id"), "f47ac10b-58cc");
}

TEST_F(RequestIds, AreMadeWhereTheClientSentNoValidOne) {
  const Master master(searchd, tables);
  std::set<std::string> ids;
  for (const auto* fields : {"", "X-Request-Id: a b\r\n", "X-Request-Id: \"\r\n"})
    ids.insert(master.search(kFind, fields).fields.at("x-request-id"));
  EXPECT_EQ(ids.size(), 3U);
  for (const auto& request : a.seen()) EXPECT_TRUE(ids.contains(value_of(request, "X-Request-Id")));
  for (const auto& id : ids) EXPECT_EQ(id.size(), 16U);
}

TEST_F(RequestIds, AreNotMadeWhereOnlyThoseOfClientsAreUsed) {
  const Master master(searchd + "\n request_id = accept", tables);
  EXPECT_FALSE(master.search(kFind).fields.contains("x-request-id"));
  EXPECT_EQ(value_of(a.seen().at(0), "X-Request-Id"), "");
  EXPECT_EQ(master.search(kFind, "X-Request-Id: abc\r\n").fields.at("x-request-id"), "abc");
}

TEST_F(RequestIds, StandInEveryRefusal) {
  const Master master(searchd + "\n max_packet_size = 128k", tables);
  const auto id = [](const Response& answer) { return answer.fields.at("x-request-id"); };
  EXPECT_EQ(id(master.search(R"({"table":"none"})", "X-Request-Id: abc\r\n")), "abc");
  HttpClient large(master.port());
  large.send(
      "POST /search HTTP/1.1\r\nHost: h\r\nX-Request-Id: abc\r\nContent-Length: 1000000\r\n\r\n");
  const auto too_large = large.receive();
  ASSERT_TRUE(too_large);
  EXPECT_EQ(too_large->status, 413);
  EXPECT_EQ(id(*too_large), "abc");
  HttpClient malformed(master.port());
  malformed.send("nonsense\r\n\r\n");
  EXPECT_EQ(id(malformed.receive().value()).size(), 16U);
}

TEST_F(RequestIds, OfKarmadReplaceThoseOfAnUnknownServer) {
  const Master master(searchd, tables);
  const auto answer =
      HttpClient(master.port())
          .request("GET", "/http", {}, fmt::format("X-Request-Id: abc\r\n{}", kTraceFields));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->fields.at("x-request-id"), "abc");
  const auto request = unknown.seen().empty() ? std::string() : unknown.seen().at(0);
  EXPECT_EQ(value_of(request, "X-Request-Id"), "abc") << request;
  EXPECT_EQ(value_of(request, "tracestate"), "a=1,b=2");
  EXPECT_TRUE(value_of(request, "traceparent").starts_with(fmt::format("00-{}-", kTrace)));
}

TEST_F(RequestIds, AndTracesGoOnInCopies) {
  const Master master(searchd, tables);
  const auto fields = fmt::format("X-Request-Id: abc\r\n{}", kTraceFields);
  ASSERT_EQ(master.search(R"({"table":"copied"})", fields).status, 200);
  ASSERT_TRUE(eventually([&] { return b.requests() == 1; }));
  const auto copy = b.seen().at(0);
  EXPECT_EQ(value_of(copy, "X-Request-Id"), "abc");
  EXPECT_EQ(value_of(copy, "tracestate"), "a=1,b=2");
  EXPECT_NE(value_of(copy, "traceparent"), value_of(a.seen().at(0), "traceparent"));
}

TEST_F(RequestIds, ATraceGoesOnWithAParentIdForEachAttempt) {
  a.react([](const std::string&) { return json("busy", 429); });
  b.react([](const std::string&) { return json("busy", 429); });
  const TempDir folder;
  const auto path = folder.path() + "/access";
  const Master master(searchd + "\n max_attempts = 3\n access_log = " + path, tables);
  const auto answer = master.search(R"({"table":"both"})", kTraceFields);
  EXPECT_EQ(answer.status, 429);
  auto requests = a.seen();
  std::ranges::copy(b.seen(), std::back_inserter(requests));
  ASSERT_EQ(requests.size(), 3U);
  std::string line;
  ASSERT_TRUE(eventually([&] { return !std::getline(std::ifstream(path), line).fail(); }));
  EXPECT_TRUE(line.contains(fmt::format(R"("trace_id":"{}")", kTrace))) << line;
  EXPECT_TRUE(line.contains(fmt::format(R"("request_id":"{}")", answer.fields.at("x-request-id"))));
  std::set<std::string> spans;
  for (const auto& request : requests) {
    const auto parent = value_of(request, "traceparent");
    ASSERT_EQ(parent.size(), 55U) << request;
    EXPECT_EQ(parent.substr(0, 36), fmt::format("00-{}-", kTrace));
    EXPECT_EQ(parent.substr(52), "-01");
    spans.insert(parent.substr(36, 16));
    EXPECT_TRUE(line.contains(fmt::format(R"("span_id":"{}")", parent.substr(36, 16)))) << line;
    EXPECT_EQ(value_of(request, "tracestate"), "a=1,b=2");
  }
  EXPECT_EQ(spans.size(), 3U);
  EXPECT_FALSE(spans.contains("00f067aa0ba902b7")) << "the client's own";
}

TEST_F(RequestIds, NoTraceIsBegun) {
  const Master master(searchd, tables);
  for (const auto* fields :
       {"", "tracestate: a=1\r\n",
        "traceparent: ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"})
    EXPECT_EQ(master.search(kFind, fields).status, 200);
  for (const auto& request : a.seen()) {
    EXPECT_EQ(value_of(request, "traceparent"), "");
    EXPECT_EQ(value_of(request, "tracestate"), "");
  }
}

}  // namespace
}  // namespace karmad::test
