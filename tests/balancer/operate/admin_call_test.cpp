#include "balancer/operate/admin_call.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

const char* const kTwoTables =
    "searchd {\n listen = 9308\n}\n"
    "table t {\n type = distributed\n agent = a:1|b:2\n agent = a:1|c:3\n hedge = p95\n}\n"
    "table u {\n type = distributed\n agent = a:1[weight=3]\n}\n";

AdminCall call_of(AdminVerb verb, std::string_view body) {
  auto call = parse_admin_call(verb, body);
  if (!call) ADD_FAILURE() << call.error();
  return call.value_or(AdminCall{});
}

std::string complaint_about(AdminVerb verb, std::string_view body) {
  const auto call = parse_admin_call(verb, body);
  return call ? "none" : call.error();
}

/// The settings after these calls.
Settings changed(std::initializer_list<AdminCall> calls) {
  const auto configured = settings_of(kTwoTables);
  Overrides overrides;
  for (const auto& call : calls) {
    auto next = apply(call, configured, overrides);
    if (!next) ADD_FAILURE() << next.error().reason;
    if (next) overrides = *next;
  }
  return with_overrides(configured, overrides);
}

std::string refusal(const AdminCall& call) {
  const auto next = apply(call, settings_of(kTwoTables), {});
  return next ? "none" : next.error().reason;
}

int status_of_refusal(const AdminCall& call) {
  const auto next = apply(call, settings_of(kTwoTables), {});
  return next ? 200 : next.error().status;
}

TEST(AdminCalls, SayWhatIsWrongWithABody) {
  using enum AdminVerb;
  EXPECT_EQ(complaint_about(drain, R"({"mirror":"a:1"})"), "none");
  EXPECT_EQ(complaint_about(reload, ""), "none");
  EXPECT_TRUE(complaint_about(drain, "{x").starts_with("the body is not JSON; at byte 1"));
  EXPECT_EQ(complaint_about(drain, "[]"), "the body must be a JSON object");
  EXPECT_EQ(complaint_about(drain, "{}"),
            "the member mirror is missing; drain takes mirror, table (optional), force (optional)");
  EXPECT_EQ(complaint_about(drain, R"({"mirror":"a","x":1})"),
            "unknown member 'x'; drain takes mirror, table (optional), force (optional)");
  EXPECT_EQ(complaint_about(drain, R"({"mirror":"a","mirror":"b"})"),
            "the member mirror is given twice");
  EXPECT_EQ(complaint_about(drain, R"({"mirror":7})"), "mirror must be a text that is not empty");
  EXPECT_EQ(complaint_about(weight, R"({"mirror":"a","weight":1001})"),
            "weight must be a number from 0 to 1000");
  EXPECT_EQ(complaint_about(hedging, R"({"on":1})"), "on must be true or false");
  EXPECT_EQ(complaint_about(maint, R"({"mirror":"a:1","force":"yes"})"),
            "force must be true or false");
  EXPECT_EQ(complaint_about(ready, R"({"mirror":"a:1","force":true})"),
            "unknown member 'force'; ready takes mirror, table (optional)");
  EXPECT_EQ(complaint_about(log_level, R"({"level":"loud"})"),
            "level must be one of debug, info, warning, error");
  EXPECT_EQ(complaint_about(strategy, R"({"table":"t","strategy":"leastop"})"),
            "strategy must be one of random, roundrobin, nodeads, noerrors, leastops, adaptive, "
            "prequal, ars; did you mean 'leastops'?");
  EXPECT_EQ(complaint_about(reload, R"({"x":1})"), "unknown member 'x'; reload takes no members");
}

TEST(AdminCalls, ChangeEveryMirrorAtThatAddressOrThoseOfATable) {
  const auto everywhere = changed({call_of(AdminVerb::drain, R"({"mirror":"a:1"})")});
  EXPECT_EQ(everywhere.tables[0].shards[0].mirrors[0].state.value, ServiceState::drain);
  EXPECT_EQ(everywhere.tables[0].shards[1].mirrors[0].state.value, ServiceState::drain);
  EXPECT_EQ(everywhere.tables[1].shards[0].mirrors[0].state.value, ServiceState::drain);
  EXPECT_EQ(everywhere.tables[0].shards[0].mirrors[1].state.value, ServiceState::ready);
  const auto of_u =
      changed({call_of(AdminVerb::weight, R"({"mirror":"a:1","table":"U","weight":9})"),
               call_of(AdminVerb::maint, R"({"mirror":"a:1","table":"u"})")});
  EXPECT_EQ(of_u.tables[0].shards[0].mirrors[0].weight.value, 1U);
  EXPECT_EQ(of_u.tables[1].shards[0].mirrors[0].weight.value, 9U);
  EXPECT_EQ(of_u.tables[1].shards[0].mirrors[0].state.value, ServiceState::maint);
}

TEST(AdminCalls, ChangeATableWhoseCaseTheFileHasChanged) {
  const auto former = settings_of("table Old {\n type = distributed\n agent = a:1|b:2\n}\n");
  const auto now = settings_of("table oLD {\n type = distributed\n agent = a:1|b:2\n}\n");
  const auto after = [&](std::initializer_list<AdminCall> calls) {
    Overrides overrides;
    for (const auto& call : {call_of(AdminVerb::drain, R"({"mirror":"b:2"})"),
                             call_of(AdminVerb::strategy, R"({"table":"old","strategy":"ars"})")})
      overrides = apply(call, former, overrides).value();
    for (const auto& call : calls) overrides = apply(call, now, overrides).value();
    return with_overrides(now, overrides).tables[0].shards[0];
  };
  EXPECT_EQ(after({}).mirrors[1].state.value, ServiceState::drain);
  const auto changed =
      after({call_of(AdminVerb::ready, R"({"mirror":"b:2"})"),
             call_of(AdminVerb::strategy, R"({"table":"old","strategy":"nodeads"})")});
  EXPECT_EQ(changed.mirrors[1].state.value, ServiceState::ready);
  EXPECT_EQ(changed.ha_strategy->value, "nodeads");
  const auto restored = after({call_of(AdminVerb::restore, R"({"table":"old"})")});
  EXPECT_EQ(restored.mirrors[1].state.value, ServiceState::ready);
  EXPECT_FALSE(restored.ha_strategy.has_value());
}

TEST(AdminCalls, ChangeTablesAndTheProcess) {
  const auto after = changed({call_of(AdminVerb::strategy, R"({"table":"t","strategy":"nodeads"})"),
                              call_of(AdminVerb::hedging, R"({"on":false,"table":"t"})"),
                              call_of(AdminVerb::hedging, R"({"on":false})"),
                              call_of(AdminVerb::log_level, R"({"level":"debug"})")});
  EXPECT_EQ(after.tables[0].shards[1].ha_strategy->value, "nodeads");
  EXPECT_EQ(after.tables[0].hedge.value, "off");
  EXPECT_TRUE(after.searchd.hedge_disabled.value);
  EXPECT_EQ(after.searchd.log_level.value, LogLevel::debug);
  EXPECT_FALSE(after.tables[1].ha_strategy.has_value());
}

TEST(AdminCalls, AreRefusedForUnknownNamesAndWithoutEffect) {
  EXPECT_EQ(status_of_refusal(call_of(AdminVerb::drain, R"({"mirror":"z:9"})")), 404);
  EXPECT_EQ(refusal(call_of(AdminVerb::drain, R"({"mirror":"first"})")),
            "no mirror 'first'; a mirror is called by its address, such as a:1");
  EXPECT_EQ(status_of_refusal(call_of(AdminVerb::drain, R"({"mirror":"a:1","table":"v"})")), 404);
  EXPECT_EQ(status_of_refusal(call_of(AdminVerb::drain, R"({"mirror":"b:2","table":"u"})")), 404);
  EXPECT_EQ(status_of_refusal(call_of(AdminVerb::hedging, R"({"on":true,"table":"u"})")), 409)
      << "hedge = off in the configuration";
}

TEST(AdminCalls, RestoreWhatIsConfigured) {
  const auto drain = call_of(AdminVerb::drain, R"({"mirror":"a:1"})");
  const auto some = changed({drain, call_of(AdminVerb::restore, R"({"table":"t"})")});
  EXPECT_EQ(some.tables[0].shards[0].mirrors[0].state.value, ServiceState::ready);
  EXPECT_EQ(some.tables[1].shards[0].mirrors[0].state.value, ServiceState::drain);
  const auto all = changed({drain, call_of(AdminVerb::restore, "")});
  EXPECT_EQ(all.tables[1].shards[0].mirrors[0].state.value, ServiceState::ready);
}

TEST(AdminCalls, RestoreWhatTheConfigurationDoesNotHaveNow) {
  const auto before = settings_of(kTwoTables);
  const auto now = settings_of("table t {\n type = distributed\n agent = b:2|c:3\n}\n");
  Overrides overrides;
  for (const auto& call : {call_of(AdminVerb::drain, R"({"mirror":"a:1"})"),
                           call_of(AdminVerb::weight, R"({"mirror":"b:2","weight":7})"),
                           call_of(AdminVerb::strategy, R"({"table":"u","strategy":"ars"})")})
    overrides = apply(call, before, overrides).value();
  const auto left = [&](std::string_view body) {
    const auto next = apply(call_of(AdminVerb::restore, body), now, overrides);
    return next ? next->size() : 0U;
  };
  EXPECT_EQ(overrides.size(), 4U) << "a:1 of both tables, b:2, and u";
  EXPECT_EQ(left(R"({"mirror":"a:1"})"), 2U);
  EXPECT_EQ(left(R"({"mirror":"a:1","table":"t"})"), 3U);
  EXPECT_EQ(left(R"({"table":"T"})"), 2U);
  EXPECT_EQ(left(R"({"table":"u"})"), 2U);
  const auto unknown = apply(call_of(AdminVerb::restore, R"({"mirror":"d:4"})"), now, overrides);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().status, 404);
}

TEST(AdminCalls, TellTheStateOfTheirSubjects) {
  const auto drain = call_of(AdminVerb::drain, R"({"mirror":"a:1","table":"u"})");
  EXPECT_EQ(subjects(drain, changed({drain})),
            std::vector<std::string>{
                R"({"table":"u","shard":1,"mirror":"a:1","state":"drain","weight":3})"});
  const auto strategy = call_of(AdminVerb::strategy, R"({"table":"u","strategy":"ars"})");
  EXPECT_EQ(subjects(strategy, changed({strategy})),
            std::vector<std::string>{R"({"table":"u","strategy":"ars","hedge":"off"})"});
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kTwoTables;
  return text.replace(text.find(from), from.size(), to);
}

/// What the configuration that became `text` takes back.
std::vector<std::string> taken_back(Overrides& overrides, const std::string& text) {
  return forget_reconfigured(overrides, settings_of(text));
}

TEST(RuntimeChanges, EndOnceTheConfigurationChangesThatSetting) {
  using Strings = std::vector<std::string>;
  const auto configured = settings_of(kTwoTables);
  auto overrides = *apply(call_of(AdminVerb::drain, R"({"mirror":"a:1"})"), configured, {});
  EXPECT_TRUE(forget_reconfigured(overrides, configured).empty());
  EXPECT_EQ(taken_back(overrides, with("weight=3", "weight=4")), Strings{});
  EXPECT_EQ(taken_back(overrides, with("weight=3", "weight=3,role=replica")), Strings{});
  EXPECT_EQ(taken_back(overrides, with("agent = a:1|b:2", "agent = a:1[weight=2]")), Strings{});
  EXPECT_EQ(taken_back(overrides, with("table u", "table v")), Strings{}) << "it may come back";
  EXPECT_EQ(overrides.mirrors.size(), 2U);
  EXPECT_EQ(taken_back(overrides, with("weight=3", "weight=3,state=maint")),
            Strings{"the state of a:1 of table u"});
  EXPECT_EQ(overrides.mirrors.size(), 1U) << "that of table t stays";
}

TEST(RuntimeChanges, EndApartFromEachOther) {
  using Strings = std::vector<std::string>;
  const auto configured = settings_of(kTwoTables);
  Overrides overrides;
  for (const auto& call : {call_of(AdminVerb::maint, R"({"mirror":"a:1","table":"u"})"),
                           call_of(AdminVerb::weight, R"({"mirror":"a:1","table":"u","weight":9})"),
                           call_of(AdminVerb::strategy, R"({"table":"t","strategy":"ars"})"),
                           call_of(AdminVerb::hedging, R"({"table":"t","on":false})")})
    overrides = *apply(call, configured, overrides);
  EXPECT_EQ(taken_back(overrides, with("weight=3", "weight=4")),
            Strings{"the weight of a:1 of table u"});
  const auto& kept = overrides.mirrors.at({"u", "a:1"});
  EXPECT_FALSE(kept.weight);
  ASSERT_TRUE(kept.state);
  EXPECT_EQ(kept.state->value, ServiceState::maint);
  EXPECT_EQ(taken_back(overrides, with("hedge = p95", "hedge = 5ms")),
            Strings{"the hedging of table t"});
  EXPECT_TRUE(overrides.tables.at("t").strategy);
}

TEST(RuntimeChanges, OfTheProcessEndWhenTheFileChangesTheSame) {
  using Strings = std::vector<std::string>;
  const auto file = [](const std::string& line) {
    return std::string("searchd {\n ") + line + std::string(kTwoTables).substr(9);
  };
  const auto configured = settings_of(file("log_level = info"));
  Overrides overrides;
  for (const auto& call : {call_of(AdminVerb::hedging, R"({"on":true})"),
                           call_of(AdminVerb::log_level, R"({"level":"debug"})")})
    overrides = *apply(call, configured, overrides);
  EXPECT_TRUE(taken_back(overrides, file("dead_after = 1")).empty());
  EXPECT_EQ(taken_back(overrides, file("hedge_disabled = 1")),
            Strings{"the hedging of the process"});
  EXPECT_EQ(taken_back(overrides, file("log_level = warning")), Strings{"log_level"});
  EXPECT_EQ(overrides, Overrides());
}

TEST(RuntimeChanges, OfAStateFileWithoutConfiguredValuesStay) {
  const auto read = parse_overrides(
      R"({"version":1,"mirrors":[{"table":"u","address":"a:1","state":"drain","configured":"x"}]})");
  ASSERT_TRUE(read) << read.error();
  auto overrides = *read;
  EXPECT_TRUE(taken_back(overrides, kTwoTables).empty());
  EXPECT_EQ(taken_back(overrides, with("weight=3", "state=maint")).size(), 1U);
}

TEST(RuntimeChanges, SurviveInTheStateFile) {
  const auto configured = settings_of(kTwoTables);
  Overrides overrides;
  for (const auto& call : {call_of(AdminVerb::drain, R"({"mirror":"a:1"})"),
                           call_of(AdminVerb::weight, R"({"mirror":"b:2","weight":0})"),
                           call_of(AdminVerb::strategy, R"({"table":"t","strategy":"ars"})"),
                           call_of(AdminVerb::hedging, R"({"on":false})"),
                           call_of(AdminVerb::log_level, R"({"level":"error"})")})
    overrides = *apply(call, configured, overrides);
  const auto read = parse_overrides(overrides_json(overrides));
  ASSERT_TRUE(read.has_value()) << read.error();
  EXPECT_EQ(*read, overrides);
}

TEST(RuntimeChanges, SayWhatIsWrongWithAStateFile) {
  const auto why = [](std::string_view json) {
    const auto read = parse_overrides(json);
    return read ? "none" : read.error();
  };
  EXPECT_EQ(why(R"({"version":1})"), "none");
  EXPECT_TRUE(why("{").starts_with("not JSON at byte"));
  EXPECT_EQ(why(R"({"version":2})"), "its version is not 1");
  EXPECT_EQ(why(R"({"version":1,"mirrors":{}})"),
            "the member mirrors is missing or not as expected");
  EXPECT_EQ(why(R"({"version":1,"mirrors":[{"table":"t"}]})"),
            "the member address is missing or not as expected");
  EXPECT_EQ(why(R"({"version":1,"mirrors":[{"table":"t","address":"a","state":"off"}]})"),
            "the member state is missing or not as expected");
  EXPECT_EQ(why(R"({"version":1,"mirrors":[7]})"),
            "the member table is missing or not as expected");
}

}  // namespace
}  // namespace karmad
