#include "balancer/operate/configuration.hpp"

#include <gtest/gtest.h>

#include "tests/config/written.hpp"

namespace karmad {
namespace {

std::string file_text(const std::string& searchd, const std::string& body) {
  return "searchd {\n listen = 127.0.0.1:9308\n" + searchd + "\n}\n" + table(body);
}

Configuration configuration(const std::string& body, const std::string& searchd = "") {
  return Configuration(settings_of(file_text(searchd, body)));
}

AdminCall call(AdminVerb verb, std::string mirror) {
  return {.verb = verb, .mirror = std::move(mirror)};
}

std::vector<std::string> mirrors(const Settings& settings) {
  std::vector<std::string> names;
  for (const auto& shard : settings.tables.at(0).shards)
    for (const auto& mirror : shard.mirrors) names.push_back(text(mirror.address));
  return names;
}

ServiceState state(const Settings& settings, std::size_t mirror) {
  return settings.tables.at(0).shards.at(0).mirrors.at(mirror).state.value;
}

FoundMirrors found(std::vector<std::string> hosts) {
  FoundMirrors found;
  for (auto& host : hosts)
    found.pictures["t"][1].push_back({.address = {.host = std::move(host), .port = 9308}});
  return found;
}

constexpr auto kPair = " agent = 10.0.0.1:9308|10.0.0.2:9308:t";
constexpr auto kFound = " discovery = file /mirrors\n agent = 10.0.0.9:9308:t";

TEST(ConfigurationEvents, ACallChangesWhatIsInUseAndNotWhatIsConfigured) {
  const auto before = configuration(kPair);
  const auto next = before.on_call(call(AdminVerb::drain, "10.0.0.2:9308"));
  ASSERT_TRUE(next);
  EXPECT_EQ(state(next->configuration.settings(), 1), ServiceState::drain);
  EXPECT_EQ(state(next->configuration.configured(), 1), ServiceState::ready);
  EXPECT_EQ(state(before.settings(), 1), ServiceState::ready);
  EXPECT_EQ(before.on_call(call(AdminVerb::drain, "10.0.0.7:9308")).error().status, 404);
}

TEST(ConfigurationEvents, AFileKeepsCallsUntilItChangesTheSameItself) {
  const auto drained =
      configuration(kPair).on_call(call(AdminVerb::drain, "10.0.0.1:9308"))->configuration;
  const auto other = drained.on_file(settings_of(file_text(" dead_after = 7", kPair)), {});
  EXPECT_EQ(other.ended, Lines{});
  EXPECT_EQ(state(other.configuration.settings(), 0), ServiceState::drain);
  EXPECT_EQ(other.configuration.settings().searchd.dead_after.value, 7U);
  const auto same = other.configuration.on_file(
      settings_of(file_text("", " agent = 10.0.0.1:9308[state=maint]|10.0.0.2:9308:t")), {});
  ASSERT_EQ(same.ended.size(), 1U);
  EXPECT_TRUE(same.ended[0].contains("10.0.0.1:9308")) << same.ended[0];
  EXPECT_EQ(state(same.configuration.settings(), 0), ServiceState::maint);
  EXPECT_EQ(same.configuration.overrides(), Overrides{});
}

TEST(ConfigurationEvents, SettingsOfTheStartStayAndAreNamed) {
  const auto before = configuration(kPair, " workers = 2\n ha_period_karma = 30s");
  const auto next = before.on_file(
      settings_of("searchd {\n listen = 127.0.0.1:9400\n workers = 3\n ha_period_karma = 30s\n"
                  " access_log = stdout\n request_timeout = 4s\n}\n" +
                  table(kPair)),
      {});
  EXPECT_EQ(next.fixed, (std::vector<std::string_view>{"listen", "workers", "access_log"}));
  const auto& searchd = next.configuration.settings().searchd;
  EXPECT_EQ(searchd.workers.value, 2U);
  EXPECT_EQ(searchd.listen.at(0).address.port, 9308);
  EXPECT_FALSE(searchd.access_log);
  EXPECT_EQ(searchd.request_timeout.value, Micros(4'000'000));
}

TEST(ConfigurationEvents, FoundMirrorsReplaceThoseOfTheFileAndKeepCalls) {
  auto now = configuration(kFound);
  EXPECT_EQ(mirrors(now.settings()), Lines{"10.0.0.9:9308"});  // until the source has answered
  auto next = now.on_mirrors(found({"10.0.0.1", "10.0.0.2"}));
  EXPECT_TRUE(next.mirrors.contains("2 new (10.0.0.1:9308")) << next.mirrors;
  now = next.configuration;
  EXPECT_EQ(mirrors(now.settings()), (Lines{"10.0.0.1:9308", "10.0.0.2:9308"}));
  EXPECT_EQ(now.on_mirrors(found({"10.0.0.1", "10.0.0.2"})).mirrors, "");
  now = now.on_call(call(AdminVerb::maint, "10.0.0.2:9308"))->configuration;
  // It goes and comes back: what the operator said of it counts again.
  now = now.on_mirrors(found({"10.0.0.1"})).configuration;
  next = now.on_mirrors(found({"10.0.0.1", "10.0.0.2"}));
  EXPECT_EQ(next.ended, Lines{});
  EXPECT_EQ(state(next.configuration.settings(), 1), ServiceState::maint);
  // A property that is no address.
  auto weighted = found({"10.0.0.1", "10.0.0.2"});
  weighted.pictures["t"][1][0].weight = 5;
  EXPECT_EQ(next.configuration.on_mirrors(weighted).mirrors, "properties of mirrors have changed");
}

TEST(ConfigurationEvents, AStrategyOfACallStaysWhenASourceAddsAShard) {
  const std::string body = std::string(kFound) + " [ha_strategy=roundrobin]";
  AdminCall by_hand{.verb = AdminVerb::strategy};
  by_hand.table = "t";
  by_hand.strategy = "ars";
  auto now = configuration(body).on_call(by_hand)->configuration;
  auto more = found({"10.0.0.1"});
  more.pictures["t"][3] = more.pictures["t"][1];
  const auto next = now.on_mirrors(more);
  EXPECT_EQ(next.ended, Lines{});
  for (const auto& shard : next.configuration.settings().tables.at(0).shards)
    EXPECT_EQ(shard.ha_strategy->value, "ars");
  const auto changed = next.configuration.on_file(
      settings_of(file_text("", body + "\n ha_strategy = nodeads")), more);
  EXPECT_EQ(changed.ended.size(), 1U);
}

TEST(ConfigurationEvents, RestoredCallsAreOfMirrorsThatAreFoundLater) {
  // The source says other weights and states than the lines of the file that it replaces.
  auto weighted = found({"10.0.0.9", "10.0.0.1"});
  weighted.pictures["t"][1][0].weight = 5;
  weighted.pictures["t"][1][0].state = ServiceState::maint;
  const auto before = configuration(kFound).on_mirrors(weighted).configuration.on_call(
      call(AdminVerb::drain, "10.0.0.9:9308"));
  ASSERT_TRUE(before);
  auto now = configuration(kFound);
  now.restore(before->configuration.overrides());
  const auto next = now.on_mirrors(weighted);
  EXPECT_EQ(next.ended, Lines{});
  EXPECT_EQ(state(next.configuration.settings(), 0), ServiceState::drain);
  weighted.pictures["t"][1][0].state = ServiceState::ready;
  EXPECT_EQ(now.on_mirrors(weighted).ended.size(), 1U);
}

TEST(ConfigurationEvents, WhatIsCutOffIsNamedOnce) {
  std::vector<std::string> many;
  for (int i = 1; i <= 70; ++i) many.push_back("10.0.1." + std::to_string(i));
  auto next = configuration(kFound).on_mirrors(found(many));
  ASSERT_EQ(next.cuts.size(), 1U);
  EXPECT_EQ(mirrors(next.configuration.settings()).size(), 64U);
  next = *next.configuration.on_call(call(AdminVerb::drain, "10.0.1.1:9308"));
  EXPECT_EQ(next.configuration.on_mirrors(found(many)).cuts, Lines{});
  next = next.configuration.on_overrides({});
  EXPECT_EQ(next.configuration.on_mirrors(found(many)).cuts, Lines{});
  many.resize(3);
  EXPECT_EQ(next.configuration.on_mirrors(found(many)).cuts, Lines{});
}

TEST(ConfigurationEvents, ChangesOfAFormerProcessReplaceThoseOfThisOne) {
  auto now = configuration(kPair);
  const auto other = now.on_call(call(AdminVerb::drain, "10.0.0.2:9308"))->configuration;
  now = now.on_call(call(AdminVerb::maint, "10.0.0.1:9308"))->configuration;
  const auto next = now.on_overrides(other.overrides());
  EXPECT_EQ(next.configuration.overrides(), other.overrides());
  EXPECT_EQ(state(next.configuration.settings(), 0), ServiceState::ready);
  EXPECT_EQ(state(next.configuration.settings(), 1), ServiceState::drain);
}

}  // namespace
}  // namespace karmad
