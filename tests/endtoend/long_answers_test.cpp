#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

using namespace std::chrono_literals;
using Then = Reaction::Then;

constexpr std::string_view kLongQuery = R"({"table":"t"})";

std::string json_of(std::size_t size) {
  return R"({"x":")" + std::string(size - 8, 'x') + "\"}";
}

/// Answers of about a megabyte; the mirror sends the second part when the test releases it.
Reaction long_answer(std::size_t size = 2'000'000, std::size_t held_from = 500'000) {
  auto reaction = json(json_of(size));
  reaction.held_from = held_from;
  return reaction;
}

class LongAnswers : public testing::Test {
 protected:
  static std::string table(const FakeMirror& mirror, std::string_view more = {}) {
    return fmt::format("table t {{\n type = distributed\n {}\n agent = {}:t\n}}\n", more,
                       mirror.address());
  }
  static std::string table_of(const FakeMirror& one, const FakeMirror& other) {
    return fmt::format("table t {{\n type = distributed\n agent = {}|{}:t\n}}\n", one.address(),
                       other.address());
  }
  /// A counter of the only mirror.
  static std::int64_t of_agent(const Master& master, std::string_view counter) {
    return master.count(fmt::format("ag_t_1_1_{}", counter));
  }
  static std::int64_t errors_in_a_row(const Master& master, const FakeMirror& of) {
    return master.count("agent_errorsarow", fmt::format("SHOW AGENT '{}' STATUS", of.address()));
  }
  static bool ask(HttpClient& client, std::string_view fields = {}) {
    return client.send(
        fmt::format("POST /search HTTP/1.1\r\nHost: h\r\n{}Content-Length: {}\r\n\r\n{}", fields,
                    kLongQuery.size(), kLongQuery));
  }

  FakeMirror mirror{[](const std::string&) { return long_answer(); }};
  const std::string kSearchd = "workers = 1\n ha_ping_interval = 0\n reply_buffer_size = 64K";
};

TEST_F(LongAnswers, BeginBeforeTheAgentHasSentThemToTheEnd) {
  Master master(kSearchd, table(mirror));
  HttpClient client(master.port());
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(ask(client));
    if (round == 0) {
      ASSERT_TRUE(client.has(400'000));
      EXPECT_LT(mirror.sent(), 600'000U);
      mirror.send_rest();
    }
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->fields.at("content-length"), "2000000");
    EXPECT_TRUE(answer->body == json_of(2'000'000));
  }
  EXPECT_EQ(mirror.connections(), 1U);  // used again
  EXPECT_EQ(master.count("replies_passed"), 2);
  EXPECT_EQ(master.count("replies_broken_off"), 0);
  EXPECT_EQ(of_agent(master, "succeeded_queries"), 2);
}

TEST_F(LongAnswers, OfUnknownServersTravelWithTheirFields) {
  FakeMirror server([](const std::string&) {
    return Reaction{fmt::format("HTTP/1.1 200 X\r\nX-Own: 1\r\nContent-Length: 3000000\r\n\r\n{}",
                                std::string(3'000'000, 'b'))};
  });
  Master master(kSearchd, fmt::format("table t {{\n type = distributed\n dialect = http\n"
                                      " route = /t\n agent = {}\n}}\n",
                                      server.address()));
  const auto answer = get(master.port(), "/t/x");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.fields.at("x-own"), "1");
  EXPECT_TRUE(answer.body == std::string(3'000'000, 'b'));
  EXPECT_EQ(master.count("replies_passed"), 1);
}

TEST_F(LongAnswers, UpToTheBufferAreReadWholeAndRetriedAtAnotherMirror) {
  mirror.react([](const std::string&) {
    auto broken = json(json_of(1'000'000));
    broken.bytes.resize(900'000);
    broken.then = Then::close;
    return broken;
  });
  FakeMirror other([](const std::string&) { return json(json_of(1'000'000)); });
  Master master(
      "workers = 1\n ha_strategy = roundrobin\n ha_ping_interval = 0\n"
      "agent_retry_count = 1",
      table_of(mirror, other));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(master.search(kLongQuery).body.size(), 1'000'000U);
  EXPECT_GE(mirror.requests(), 1U);
  EXPECT_EQ(master.count("replies_passed"), 0);
}

TEST_F(LongAnswers, ThatBreakOffEndTheConnectionAndCountAgainstTheMirror) {
  const struct {
    std::string name;
    std::function<Reaction()> reaction;
    std::string_view counter;
  } cases[] = {
      {"closed",
       [] {
         auto broken = json(json_of(2'000'000));
         broken.bytes.resize(1'500'000);
         broken.then = Then::close;
         return broken;
       },
       "unexpected_closings"},
      {"an end that is none",
       [] {
         auto broken = json(json_of(2'000'000));
         broken.bytes.back() = 'x';
         return broken;
       },
       "wrong_replies"},
      {"silence", [] { return long_answer(); }, "query_timeouts"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    FakeMirror agent([&](const std::string&) { return c.reaction(); });
    Master master(kSearchd + "\n agent_query_timeout = 1s", table(agent));
    HttpClient client(master.port());
    ASSERT_TRUE(ask(client));
    const auto head = client.receive(/*to_head=*/true);
    ASSERT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    const auto body = client.rest();
    EXPECT_TRUE(client.was_reset());  // not an end like any other
    EXPECT_LT(body.size(), 2'000'000U);
    EXPECT_GT(body.size(), 60'000U);
    EXPECT_TRUE(json_of(2'000'000).starts_with(body));
    EXPECT_EQ(master.count("replies_broken_off"), 1);
    EXPECT_EQ(master.count("query_timeouts"), c.counter == "query_timeouts" ? 1 : 0);
    EXPECT_EQ(of_agent(master, c.counter), 1);
    EXPECT_EQ(of_agent(master, "succeeded_queries"), 0);
    EXPECT_EQ(errors_in_a_row(master, agent), 1);
  }
}

TEST_F(LongAnswers, ThatBreakOffMakeTheMirrorUnknown) {  // SD-020
  std::atomic<bool> gone{false};
  FakeMirror agent(
      [&](const std::string& request) {
        if (request.starts_with("GET")) return gone ? silence() : json("{}");
        gone = true;
        auto broken = json(json_of(2'000'000));
        broken.bytes.resize(1'500'000);
        broken.then = Then::close;
        return broken;
      },
      /*pings_too=*/true);
  FakeMirror other([](const std::string&) { return nothing_found(); });
  const Master master(
      "workers = 1\n reply_buffer_size = 64K\n ha_ping_interval = 60s",
      fmt::format(
          "table t {{\n type = distributed\n agent = {}:t[role=primary]|{}:t[role=replica]\n}}"
          "\n",
          agent.address(), other.address()));
  const auto role = [&] { return master.word("/tables/0/shards/0/mirrors/0/role"); };
  ASSERT_TRUE(eventually([&] { return role() == "primary"; }));
  HttpClient client(master.port());
  ASSERT_TRUE(ask(client, "X-Read-Preference: primary\r\n"));
  EXPECT_LT(client.rest().size(), 1'600'000U);
  EXPECT_TRUE(eventually([&] { return role() == "unknown"; }));
}

TEST_F(LongAnswers, MayEndInAnEmptyLineThatComesLate) {
  int asked = 0;
  mirror.react([&asked](const std::string&) {
    auto reaction = json(json_of(70'000) + "\n");
    if (++asked == 2) reaction.held_from = reaction.bytes.size() - 1;
    return reaction;
  });
  Master master(kSearchd, table(mirror));
  HttpClient client(master.port());
  ASSERT_TRUE(ask(client));
  ASSERT_TRUE(client.receive());
  ASSERT_TRUE(ask(client));  // its beginning is read as far as the last answer was long
  ASSERT_TRUE(client.has(70'000));
  mirror.send_rest();
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body.size(), 70'001U);
  EXPECT_EQ(master.count("replies_broken_off"), 0);
}

TEST_F(LongAnswers, HaveTheirLineInTheAccessLogWhenTheyEnd) {
  const TempDir dir;
  const auto path = dir.path() + "/access.log";
  Master master(fmt::format("{}\n agent_query_timeout = 1s\n access_log = {}", kSearchd, path),
                table(mirror));
  const auto lines = [&] {
    std::ifstream file(path);
    std::vector<std::string> found;
    for (std::string line; std::getline(file, line) && !file.eof();)
      if (line.contains("\"operation\":\"search\"")) found.push_back(line);
    return found;
  };
  {
    HttpClient client(master.port());
    ASSERT_TRUE(ask(client));
    EXPECT_LT(client.rest().size(), 1'000'000U);
  }
  mirror.send_rest();
  EXPECT_EQ(master.search(kLongQuery).body.size(), 2'000'000U);
  ASSERT_TRUE(eventually([&] { return lines().size() == 2; }));
  EXPECT_TRUE(
      lines()[0].contains(R"("broken_off":"the rest of its long answer did not come in time")"));
  EXPECT_FALSE(lines()[0].contains(R"("bytes_out":2000000)"));
  EXPECT_TRUE(lines()[1].contains(R"("bytes_out":2000000,"end":"answered","total_ms")"));
}

TEST_F(LongAnswers, WhoseClientLeavesCountAgainstNoMirror) {
  Master master(kSearchd, table(mirror));
  {
    HttpClient client(master.port());
    ASSERT_TRUE(ask(client));
    ASSERT_TRUE(client.has(400'000));
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
  EXPECT_EQ(master.count("replies_broken_off"), 0);
  EXPECT_EQ(errors_in_a_row(master, mirror), 0);
  mirror.send_rest();
  EXPECT_TRUE(eventually([&] { return mirror.open_connections() == 0; }));
}

TEST_F(LongAnswers, KeepTheirSlotUntilTheyEnd) {
  Master master(kSearchd + "\n max_in_flight = 1", table(mirror));
  HttpClient client(master.port());
  ASSERT_TRUE(ask(client));
  ASSERT_TRUE(client.has(400'000));
  EXPECT_EQ(master.number("/tables/0/shards/0/mirrors/0/in_flight"), 1);
  mirror.send_rest();
  ASSERT_TRUE(client.receive());
  EXPECT_TRUE(
      eventually([&] { return master.number("/tables/0/shards/0/mirrors/0/in_flight") == 0; }));
}

TEST_F(LongAnswers, WaitAtTheAgentWhileTheirClientDoesNotRead) {
  constexpr std::size_t kSize = 64 << 20;
  FakeMirror agent([](const std::string&) { return json(json_of(kSize)); });
  Master master(
      kSearchd + "\n network_timeout = 1s\n agent_query_timeout = 1m\n request_timeout = 5m",
      table(agent));
  HttpClient client(master.port(), 4096);
  ASSERT_TRUE(ask(client));
  EXPECT_TRUE(eventually([&] { return master.count("slow_clients") == 1; }));
  EXPECT_TRUE(eventually([&] { return agent.open_connections() == 0; }));
  EXPECT_LT(agent.sent(), kSize / 4 * 3);  // what the system's buffers held
  EXPECT_EQ(errors_in_a_row(master, agent), 0);
  EXPECT_EQ(master.count("clients_left"), 0);
}

/// An answer of three chunks, of which the mirror sends the last two when the test releases them.
Reaction open_answer(std::string_view type, Then then = Then::stay,
                     std::string_view end = "0\r\n\r\n") {
  Reaction reaction{
      fmt::format("HTTP/1.1 200 OK\r\nContent-Type: {}\r\nTransfer-Encoding: chunked\r\n\r\n"
                  "8\r\ndata: 1\n\r\n",
                  type)};
  reaction.held_from = reaction.bytes.size();
  reaction.bytes.append("9\r\ndata: 22\n\r\n3\r\nend\r\n").append(end);
  reaction.then = then;
  return reaction;
}

class OpenAnswers : public LongAnswers {
 protected:
  static std::string web(const std::string& agents) {
    return fmt::format(
        "table t {{\n type = distributed\n dialect = http\n route = /t\n agent = {}\n}}\n", agents);
  }
  static bool get_on(HttpClient& client, unsigned minor = 1) {
    return client.send(fmt::format("GET /t/x HTTP/1.{}\r\nHost: h\r\n\r\n", minor));
  }
  static bool has_first_event(HttpClient& client) {
    std::string read;
    for (auto byte = client.take(1); !byte.empty(); byte = client.take(1))
      if (read.append(byte).ends_with("data: 1\n\r\n")) return true;
    return false;
  }
};

TEST_F(OpenAnswers, ArePassedOnWhileTheyArriveAndKeepTheConnections) {
  for (const auto* type : {"text/event-stream", "Text/Event-Stream; charset=utf-8", "text/plain"}) {
    FakeMirror agent([&](const std::string&) { return open_answer(type); }, /*pings_too=*/true);
    Master master(kSearchd, web(agent.address()));
    HttpClient client(master.port());
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(get_on(client));
      if (round == 0) {
        ASSERT_TRUE(client.has(100)) << "the first event comes before the last is sent";
        agent.send_rest();
      }
      const auto answer = client.receive();
      ASSERT_TRUE(answer) << type;
      EXPECT_EQ(answer->body, "data: 1\ndata: 22\nend");
      if (round == 0) {
        EXPECT_EQ(answer->fields.at("transfer-encoding"), "chunked");
      }
    }
    EXPECT_EQ(agent.connections(), 1u);
    EXPECT_EQ(master.count("replies_broken_off"), 0);
  }
}

TEST_F(OpenAnswers, UpToTheEndOfTheConnectionReachClientsOfBothVersions) {
  for (const unsigned minor : {0u, 1u}) {
    FakeMirror agent(
        [](const std::string&) {
          Reaction reaction{"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\none\n"};
          reaction.held_from = reaction.bytes.size();
          reaction.bytes += "two\n";
          reaction.then = Then::close;
          return reaction;
        },
        /*pings_too=*/true);
    Master master(kSearchd, web(agent.address()));
    HttpClient client(master.port());
    ASSERT_TRUE(get_on(client, minor));
    ASSERT_TRUE(client.has(60));
    agent.send_rest();
    if (minor == 0) {
      const auto answer = client.rest();
      EXPECT_TRUE(answer.ends_with("\r\n\r\none\ntwo\n")) << answer;
      EXPECT_FALSE(answer.contains("chunked")) << answer;
      EXPECT_FALSE(client.was_reset());
    } else {
      const auto answer = client.receive();
      ASSERT_TRUE(answer);
      EXPECT_EQ(answer->body, "one\ntwo\n");
    }
  }
}

TEST_F(OpenAnswers, ThatBreakOffNeverLookWhole) {
  for (const auto* end : {"5\r\nxy", "zz\r\n"}) {
    FakeMirror agent(
        [&](const std::string&) { return open_answer("text/event-stream", Then::close, end); },
        /*pings_too=*/true);
    Master master(kSearchd, web(agent.address()));
    HttpClient client(master.port());
    ASSERT_TRUE(get_on(client));
    ASSERT_TRUE(client.has(100));
    agent.send_rest();
    const auto answer = client.rest();
    EXPECT_FALSE(answer.ends_with("0\r\n\r\n")) << answer;
    EXPECT_TRUE(client.was_reset());
    EXPECT_TRUE(eventually([&] { return master.count("replies_broken_off") == 1; }));
  }
}

TEST_F(OpenAnswers, ThatComeWithoutAPauseAreReplacedWhenTheyBreakOff) {
  FakeMirror broken(
      [](const std::string&) {
        return Reaction{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhal",
                        Then::close};
      },
      /*pings_too=*/true);
  FakeMirror good(
      [](const std::string&) {
        return Reaction{
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nwhole\r\n0\r\n\r\n"};
      },
      /*pings_too=*/true);
  Master master(kSearchd + "\n ha_strategy = roundrobin",
                web(broken.address() + "|" + good.address()));
  for (int i = 0; i < 4; ++i) {
    const auto answer = get(master.port(), "/t/x");
    EXPECT_EQ(answer.body, "whole");
    EXPECT_EQ(answer.fields.count("content-length"), 1u);
  }
  EXPECT_GE(broken.requests(), 1u);
}

TEST_F(OpenAnswers, EndWhenNothingComesForStreamTimeoutAndNotBefore) {
  FakeMirror agent([](const std::string&) { return open_answer("text/event-stream"); },
                   /*pings_too=*/true);
  Master master(kSearchd +
                    "\n agent_query_timeout = 100ms\n request_timeout = 200ms\n"
                    " stream_timeout = 700ms",
                web(agent.address()));
  HttpClient client(master.port());
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(get_on(client));
  client.rest();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 600ms);
  EXPECT_EQ(master.count("replies_broken_off"), 1);
}

TEST_F(OpenAnswers, EndAtTheMirrorSoonAfterTheirClientHasLeft) {
  for (const auto* settings : {"half_close_wait = 50ms", "half_close_wait = 0"}) {
    FakeMirror agent([](const std::string&) { return open_answer("text/event-stream"); },
                     /*pings_too=*/true);
    Master master(kSearchd + "\n stream_timeout = 1h\n " + settings, web(agent.address()));
    {
      HttpClient client(master.port());
      ASSERT_TRUE(get_on(client));
      ASSERT_TRUE(has_first_event(client));  // all of it, so that closing sends no reset
    }
    EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; })) << settings;
    agent.send_rest();
    EXPECT_TRUE(eventually([&] { return agent.open_connections() == 0; }));
    EXPECT_EQ(master.count("replies_broken_off"), 0);
    EXPECT_EQ(errors_in_a_row(master, agent), 0);
  }
}

TEST_F(OpenAnswers, AreNotAnsweredInTheAccessLogIfTheirClientDoesNotRead) {
  const TempDir dir;
  const auto path = dir.path() + "/access.log";
  FakeMirror agent(
      [](const std::string&) {
        return Reaction{
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n" + std::string(20'000'000, 'x'),
            Then::close};
      },
      /*pings_too=*/true);
  const Master master(fmt::format("{}\n network_timeout = 300ms\n access_log = {}", kSearchd, path),
                      web(agent.address()));
  const auto is_logged = [&](std::string_view text) {
    return eventually([&] {
      std::ifstream file(path);
      return std::string(std::istreambuf_iterator<char>(file), {}).contains(text);
    });
  };
  HttpClient slow(master.port(), 4096);
  ASSERT_TRUE(get_on(slow));
  EXPECT_TRUE(is_logged(R"("end":"broken_off")"));
  agent.react([](const std::string&) { return open_answer("text/plain"); });
  HttpClient reader(master.port());
  ASSERT_TRUE(get_on(reader));
  ASSERT_TRUE(has_first_event(reader));
  agent.send_rest();
  EXPECT_TRUE(is_logged(R"("bytes_out":20,"end":"answered")"));
}

TEST_F(OpenAnswers, ReachAClientThatHasClosedItsHalfBeforeTheyBegan) {
  FakeMirror agent(
      [](const std::string&) {
        auto reaction = open_answer("text/event-stream");
        reaction.after = 150ms;
        return reaction;
      },
      /*pings_too=*/true);
  Master master(kSearchd + "\n half_close_wait = 20ms", web(agent.address()));
  HttpClient client(master.port());
  ASSERT_TRUE(get_on(client));
  client.finish();
  ASSERT_TRUE(has_first_event(client));
  EXPECT_FALSE(client.has(1, 100ms)) << "a pause";
  agent.send_rest();
  EXPECT_TRUE(client.rest().contains("data: 22"));
  EXPECT_EQ(master.count("clients_left"), 0);
}

TEST_F(OpenAnswers, OfSearchServersAreLongOnlyBeyondTheBuffer) {
  const auto chunked = [](std::size_t size) {
    return Reaction{
        fmt::format("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                    size, json_of(size))};
  };
  std::size_t size = 30'000;
  mirror.react([&](const std::string&) { return chunked(size); });
  Master master(kSearchd, table(mirror));
  EXPECT_EQ(master.search(kLongQuery).fields.at("content-length"), "30000");
  EXPECT_EQ(master.count("replies_passed"), 0);
  size = 900'000;
  const auto answer = master.search(kLongQuery);
  EXPECT_TRUE(answer.body == json_of(size));
  EXPECT_EQ(answer.fields.count("content-length"), 0u);
  EXPECT_EQ(master.count("replies_passed"), 1);
}

}  // namespace
}  // namespace karmad::test
