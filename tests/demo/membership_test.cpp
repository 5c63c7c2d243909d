#include "demo/engine/membership.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include "demo/control.hpp"
#include "demo/data/corpus.hpp"
#include "tests/demo/shop.hpp"

namespace karmad::demo {
namespace {

using namespace std::chrono_literals;

constexpr WallMs kNow = 1'764'000'000'000;
constexpr auto kStart = Control::Clock::time_point{} + 1h;

Membership member(std::initializer_list<std::pair<std::string_view, std::string_view>> changes) {
  Membership out{.me = "127.0.0.1:9321", .process_id = "p"};
  for (const auto& [name, value] : changes)
    if (const auto problem = change(out, name, value, kNow)) ADD_FAILURE() << *problem;
  return out;
}

HttpAnswer as(const Membership& membership, std::string path, std::string body = {},
              std::string query = {}) {
  const auto* method = body.empty() ? "GET" : "POST";
  static const Engine engine{
      Index{invent_corpus(50), {}}, {"products"}, {}, Engine::Updates::counted};
  return engine.answer({method, std::move(path), std::move(query), std::move(body)}, membership,
                       kNow);
}

TEST(Membership, IsDescribedByHello) {
  EXPECT_EQ(as(member({}), "/hello").body,
            R"({"ok":true,"role":"standalone","me":"127.0.0.1:9321","hidden":false,)"
            R"("draining":false,"tags":{},"last_write_ms":1764000000000,"generation":0,)"
            R"("process_id":"p","counter":0,"api":2})");
  const auto primary = member({{"role", "primary"},
                               {"set", "books"},
                               {"tags", "dc:ny,rack:2"},
                               {"lag", "1.5"},
                               {"generation", "7"},
                               {"draining", "1"}});
  EXPECT_EQ(as(primary, "/hello").body,
            R"({"ok":true,"role":"primary","set":"books","me":"127.0.0.1:9321","hidden":false,)"
            R"("draining":true,"tags":{"dc":"ny","rack":"2"},"last_write_ms":1763999998500,)"
            R"("generation":7,"election_id":"0000019ab697e800","set_version":1,)"
            R"("process_id":"p","counter":6,"api":2})");
}

TEST(Membership, RefusesOtherValuesInWords) {
  for (const auto& [name, value] :
       {std::pair{"role", "king"}, std::pair{"role", "primary|replica"}, std::pair{"role", ""},
        std::pair{"tags", "ny"}, std::pair{"tags", ":ny"}, std::pair{"lag", "-1"},
        std::pair{"lag", "nan"}, std::pair{"lag", "soon"}, std::pair{"generation", "-1"},
        std::pair{"hidden", "yes"}, std::pair{"draining", ""}, std::pair{"cluster_state", "odd"}}) {
    Membership membership;
    EXPECT_NE(change(membership, name, value, kNow).value_or("").find("cannot be"),
              std::string::npos)
        << name << value;
    EXPECT_EQ(membership.counter, 0U);
  }
}

// SD-014
TEST(Membership, HasALaterElectionAfterEachPromotion) {
  Membership membership;
  WallMs before = 0;
  for (const WallMs now : {kNow, kNow, kNow - 5, kNow + 100}) {
    change(membership, "role", "primary", now);
    EXPECT_GT(membership.elected, before);
    before = membership.elected;
    change(membership, "role", "replica", now);
    EXPECT_EQ(membership.elected, before);
    EXPECT_EQ(write_hello(membership, now).find("election_id"), std::string::npos);
  }
  EXPECT_EQ(before, kNow + 100);
}

TEST(Membership, IsExplainedInHelpAndDocument) {
  std::ostringstream document;
  document << std::ifstream(KARMAD_SOURCE_DIR "/docs/demo.md").rdbuf();
  for (const auto& help : membership_help()) {
    EXPECT_FALSE(help.meaning.empty()) << help.name;
    EXPECT_NE(document.str().find(fmt::format("| `{}` |", help.name)), std::string::npos)
        << help.name;
  }
}

TEST(Membership, ChangesByControlAndStaysWhenSwitchesEnd) {
  Control control{R"("name":"x")", 1};
  const auto set = control.answer("mode=blackhole&for=5&role=replica&lag=30", "", false, kStart);
  EXPECT_EQ(set.answer.status, 200);
  EXPECT_EQ(control.current(kStart + 4s).mode, Mode::blackhole);
  const auto promoted =
      control.answer("", R"({"role":"primary","hidden":true})", false, kStart + 4s, kNow);
  EXPECT_EQ(promoted.answer.status, 200);
  EXPECT_FALSE(promoted.changed);  // no switch has: they end when they would have
  EXPECT_EQ(control.current(kStart + 5s).mode, Mode::ok);
  control.answer("reset=1", "", false, kStart + 6s);
  EXPECT_EQ(control.membership().role, "primary");
  EXPECT_EQ(control.membership().elected, kNow);
  EXPECT_EQ(control.membership().lag_seconds, 30);
  EXPECT_TRUE(control.membership().hidden);
}

TEST(Membership, ChangesTogetherWithSwitchesOrNotAtAll) {
  Control control{R"("name":"x")", 1};
  EXPECT_EQ(control.answer("role=replica&mode=sulk", "", false, kStart).answer.status, 400);
  EXPECT_EQ(control.answer("mode=reset&role=king", "", false, kStart).answer.status, 400);
  EXPECT_EQ(control.membership().role, "standalone");
  EXPECT_EQ(control.current(kStart).mode, Mode::ok);
}

TEST(Membership, IsShownByControl) {
  Control control{R"("name":"x")", 1, member({{"role", "replica"}, {"tags", "dc:ny"}})};
  control.count_updates(3);
  const auto text = control.answer("", "", false, kStart).answer.body;
  EXPECT_NE(text.find(R"("member":{"role":"replica","set":"","me":"127.0.0.1:9321",)"
                      R"("tags":{"dc":"ny"},"lag":0,"generation":3,)"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("updates":3,)"), std::string::npos) << text;
}

TEST(Hello, SuffersLikeOtherPings) {
  EXPECT_EQ(purpose_of("/hello"), Purpose::ping);  // which `pings=0` spares
}

constexpr std::string_view kClusterStatus = "SHOW STATUS LIKE 'cluster_%'";

TEST(ClusterStatus, HasNoRowsWithoutACluster) {
  EXPECT_EQ(as({}, "/sql", std::string(kClusterStatus), "mode=raw").body,
            "[{\n\"columns\":[{\"Counter\":{\"type\":\"string\"}},{\"Value\":{\"type\":"
            "\"string\"}}],\n\"data\":[\n],\n\"total\":0,\n\"error\":\"\",\n\"warning\":\"\"\n}]");
  EXPECT_NE(as({}, "/cli_json", "show status;").body.find("version"), std::string::npos);
  EXPECT_EQ(as({}, "/sql", std::string(kClusterStatus)).status, 501);
  EXPECT_EQ(as({}, "/cli_json", "show status like 7").status, 500);
}

TEST(ClusterStatus, ShowsTheStateThatWasSet) {
  struct Case {
    std::string_view state, status, node_state;
  };
  for (const auto& [state, status, node_state] :
       {Case{"synced", "primary", "synced"}, Case{"donor", "primary", "donor"},
        Case{"joining", "primary", "joining"}, Case{"disconnected", "disconnected", "closed"},
        Case{"non_primary", "non_primary", "closed"}}) {
    const auto membership =
        member({{"set", "books"}, {"cluster_state", state}, {"generation", "9"}});
    const auto form =
        as(membership, "/sql", "query=SHOW%20STATUS%20LIKE%20%27cluster_%25%27", "mode=raw");
    EXPECT_EQ(form.status, 200);
    EXPECT_EQ(form.body, as(membership, "/cli_json", std::string(kClusterStatus)).body);
    for (const auto& [counter, value] :
         {std::pair<std::string_view, std::string_view>{"cluster_name", "books"},
          {"cluster_books_status", status},
          {"cluster_books_node_state", node_state},
          {"cluster_books_last_committed", "9"}})
      EXPECT_NE(form.body.find(fmt::format(R"({{"Counter":"{}","Value":"{}"}})", counter, value)),
                std::string::npos)
          << state << counter << form.body;
  }
}

TEST(Updates, AreAnsweredInTheShapesOfTheSearchServer) {
  struct Case {
    std::string_view path, body, answer;
  };
  for (
      const auto& [path, body, answer] :
      {Case{
           "/insert", R"({"table":"products","id":18446744073709551615,"doc":{"title":"x"}})",
           R"({"table":"products","id":18446744073709551615,"created":true,"result":"created","status":201})"},
       Case{"/json/replace", R"({"index":"products","id":7,"doc":{}})",
            R"({"table":"products","id":7,"created":false,"result":"updated","status":200})"},
       Case{"/update", R"({"table":"products","id":"a","doc":{}})",
            R"({"table":"products","id":"a","result":"updated"})"},
       Case{"/update", R"({"table":"products","query":{"match_all":{}},"doc":{}})",
            R"({"table":"products","updated":1})"},
       Case{"/delete", R"({"table":"products","id":7})",
            R"({"table":"products","id":7,"found":true,"result":"deleted"})"}}) {
    const auto done = as({}, std::string(path), std::string(body));
    EXPECT_EQ(done.status, 200) << path;
    EXPECT_EQ(done.body, answer);
    EXPECT_EQ(done.updates, 1U);
  }
}

TEST(Updates, ComeInBulksToo) {
  const auto done = as({}, "/bulk",
                       R"({"insert":{"table":"products","id":1,"doc":{}}})"
                       "\n\n"
                       R"({"delete":{"table":"products","id":2}})"
                       "\n");
  EXPECT_EQ(done.body,
            R"({"items":[{"bulk":{"table":"products","_id":1,"created":1,"deleted":0,"updated":0,)"
            R"("result":"created","status":201}},{"bulk":{"table":"products","_id":2,"created":0,)"
            R"("deleted":1,"updated":0,"result":"updated","status":200}}],"current_line":4,)"
            R"("skipped_lines":0,"errors":false,"error":""})");
  EXPECT_EQ(done.updates, 2U);
}

TEST(Updates, AreRefusedWhenTheyCannotBeReadOrDone) {
  struct Case {
    std::string_view path, body;
    int status;
  };
  for (const auto& [path, body, status] :
       {Case{"/insert", "{", 400}, Case{"/insert", "[]", 400}, Case{"/insert", R"({"id":1})", 400},
        Case{"/delete", R"({"table":"nope","id":1})", 409}, Case{"/bulk", "\n", 400},
        Case{"/bulk", R"({"insert":{"table":"products"},"x":1})", 400},
        Case{"/bulk", R"({"bulk":{"table":"products"}})", 400},
        Case{"/bulk", R"({"insert":7})", 400},
        Case{"/bulk", R"({"insert":{"table":"nope"}})", 500}}) {
    const auto refused = as({}, std::string(path), std::string(body));
    EXPECT_EQ(refused.status, status) << path << body;
    EXPECT_EQ(refused.updates, 0U);
    json_of(refused);
  }
  EXPECT_EQ(as({}, "/insert").status, 405);
}

// SD-023
TEST(Updates, AreForThePrimaryOrMirrorsWithoutRoles) {
  const std::string update = R"({"table":"products","id":7,"doc":{}})";
  for (const auto* role : {"primary", "standalone", "router"})
    EXPECT_EQ(as(member({{"role", role}}), "/insert", update).status, 200) << role;
  for (const auto* role : {"replica", "arbiter", "other", "ghost"}) {
    const auto refused = as(member({{"role", role}}), "/bulk", update);
    EXPECT_EQ(refused.status, 409) << role;
    EXPECT_EQ(refused.updates, 0U);
    const auto json = json_of(refused);
    EXPECT_EQ(json["code"].GetInt(), 10107);
    EXPECT_STREQ(json["type"].GetString(), "not_primary");
  }
}

}  // namespace
}  // namespace karmad::demo
