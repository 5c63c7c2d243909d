#include <fmt/format.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/endtoend/odd_replies.hpp"
#include "tests/support/cluster.hpp"
#include "tests/support/fake_mirror.hpp"

namespace karmad::test {
namespace {

enum class Kind { whole, merged, opaque };

class NastyMirror : public testing::TestWithParam<Kind> {
 protected:
  static End end_of(const OddReply& nasty) {
    return GetParam() == Kind::whole    ? nasty.whole
           : GetParam() == Kind::merged ? nasty.merged
                                        : nasty.opaque;
  }
  static std::string table(const std::string& mirrors, const FakeMirror& second) {
    switch (GetParam()) {
      case Kind::whole:
        return fmt::format("table t {{\n type = distributed\n agent = {}\n}}", mirrors);
      case Kind::merged:
        return fmt::format("table t {{\n type = distributed\n agent = {}\n agent = {}\n}}", mirrors,
                           second.address());
      default:
        return fmt::format(
            "table t {{\n type = distributed\n dialect = http\n route = /t\n"
            " agent = {}\n}}",
            mirrors);
    }
  }
  static Response ask(const Master& master) {
    return GetParam() == Kind::opaque ? get(master.port(), "/t/x")
                                      : master.search(R"({"table":"t"})");
  }
  /// As `ask`, with a request larger than the buffers of the sockets.
  static Response ask_large(const Master& master) {
    const std::string filler(6'000'000, ' ');
    return GetParam() == Kind::opaque
               ? test::ask(master.port(), "GET", "/t/x", filler)
               : master.search(R"({"table":"t",)" + filler + R"("limit":5})");
  }

  FakeMirror nasty{[](const std::string&) { return json("{}"); }};
  FakeMirror good{[](const std::string&) { return json(hit(R"({"from":"good"})")); }};
  FakeMirror second{[](const std::string&) {
    return json(R"({"took":1,"timed_out":false,"hits":{"total":1,"total_relation":"eq",)"
                R"("hits":[{"_id":2,"_score":2,"_source":{"from":"second"}}]}})");
  }};
  static inline const std::string kSettings = fmt::format(
      "workers = 1\n ha_strategy = roundrobin\n agent_query_timeout = 20s\n request_timeout = 30s\n"
      "max_packet_size = {0}\n request_buffer_size = {0}\n ha_ping_interval = 0\n",
      31 * kMillion);
  /// For requests that are cancelled: the others have all the time they need on a slow machine.
  static constexpr auto kHasty =
      "workers = 1\n ha_strategy = roundrobin\n agent_query_timeout = 200ms\n"
      "ha_ping_interval = 0\n";
};

TEST_P(NastyMirror, CostsNoClientItsAnswer) {  // X-18
  const auto tables = table(nasty.address() + "|" + good.address(), second);
  Master patient(kSettings, tables);
  for (const auto& c : odd_replies()) {
    SCOPED_TRACE("a reply " + c.name);
    const auto end = end_of(c);
    if (end == End::begun) continue;
    // Another one each time, because a mirror that does not answer is left out.
    std::optional<Master> hasty;
    if (end == End::timeout) hasty.emplace(kHasty, tables);
    auto& master = hasty ? *hasty : patient;
    nasty.react([c](const std::string&) { return c.reaction; });
    if (c.at_head) nasty.react_to_heads();
    const auto seen = nasty.requests();
    const auto retries = master.count("agent_retry");
    // At least one of two queries in a row goes to it first.
    int from_nasty = 0;
    int from_good = 0;
    for (int i = 0; i < 2; ++i) {
      const auto answer = c.at_head ? ask_large(master) : ask(master);
      EXPECT_LT(answer.status, 400) << answer.body.substr(0, 500);
      (answer.body.contains(R"("from":"good")") ? from_good : from_nasty) += 1;
      if (GetParam() == Kind::merged) {
        EXPECT_TRUE(answer.body.contains(R"("from":"second")"));
        EXPECT_FALSE(answer.body.contains("warning"));
      }
    }
    const auto asked = static_cast<int>(nasty.requests() - seen);
    EXPECT_GE(asked, 1);
    EXPECT_EQ(from_nasty, end == End::taken ? asked : 0);
    EXPECT_EQ(from_good, 2 - from_nasty);
    EXPECT_EQ(master.count("agent_retry"), retries + (end == End::taken ? 0 : asked));
  }
  EXPECT_TRUE(eventually([&] { return patient.count("connections_open") == 1; }));
}

TEST_P(NastyMirror, AloneIsAClearErrorThatNamesItAndIsCounted) {
  Master patient(kSettings, table(nasty.address(), second));
  Master hasty(kHasty, table(nasty.address(), second));
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (const auto& c : odd_replies()) {
    const auto end = end_of(c);
    const auto& master = end == End::timeout ? hasty : patient;
    if (end == End::taken || end == End::begun || c.at_head) continue;
    SCOPED_TRACE("a reply " + c.name);
    nasty.react([c](const std::string&) { return c.reaction; });
    const auto key = fmt::format("agent_1periods_{}", c.counter);
    const auto counted = master.count(key, statement);
    const auto answer = ask(master);
    EXPECT_EQ(master.count(key, statement), counted + 1);
    if (GetParam() == Kind::merged) {
      EXPECT_EQ(answer.status, 200);  // with a warning
      EXPECT_TRUE(answer.body.contains("warning"));
      EXPECT_TRUE(answer.body.contains(R"("from":"second")"));
    } else if (GetParam() == Kind::whole || !c.name.starts_with("50")) {
      EXPECT_EQ(answer.status, end == End::timeout ? 504 : 502);
    } else {
      EXPECT_EQ(answer.status / 100, 5);  // its own words
      continue;
    }
    EXPECT_TRUE(answer.body.contains(nasty.address())) << answer.body.substr(0, 500);
    EXPECT_LT(answer.body.size(), 2000u);
  }
}

TEST_P(NastyMirror, ThatClosesIdleConnectionsIsAskedOnANewOneWithoutAnError) {
  Master master(kSettings, table(nasty.address(), second));
  nasty.react([](const std::string&) { return json(kBody); });
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(ask(master).status, 200);
    nasty.close_all();
  }
  EXPECT_EQ(master.count("agent_errorsarow", statement), 0);
  EXPECT_EQ(master.count("agent_retry"), 0);
  EXPECT_EQ(nasty.connections(), 10u);
}

TEST_P(NastyMirror, ThatClosesAsARequestArrivesIsAskedAgainOnce) {
  Master master(kSettings, table(nasty.address(), second));
  std::size_t on_this_connection = 0;
  nasty.react([&](const std::string&) {  // the second request on a connection ends it
    const bool over = ++on_this_connection == 2;
    if (over) on_this_connection = 0;
    return over ? Reaction{"", Reaction::Then::close} : json(kBody);
  });
  const auto statement = fmt::format("SHOW AGENT '{}' STATUS", nasty.address());
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(master).status, 200) << i;
  EXPECT_EQ(master.count("stale_connections"), 4);
  EXPECT_EQ(master.count("agent_errorsarow", statement), 0);
  EXPECT_EQ(master.count("agent_retry"), 0);
}

std::string name_of(const testing::TestParamInfo<Kind>& kind) {
  return kind.param == Kind::whole ? "Whole" : kind.param == Kind::merged ? "Merged" : "Opaque";
}
INSTANTIATE_TEST_SUITE_P(Tables, NastyMirror,
                         testing::Values(Kind::whole, Kind::merged, Kind::opaque), name_of);

}  // namespace
}  // namespace karmad::test
