#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>

#include "config/settings/values.hpp"
#include "tests/balancer/topology/built.hpp"

namespace karmad {
namespace {

/// The parts of a shard that a reload replaces.
enum class Anew : std::uint8_t { nothing, shard, protection, mirrors };
void PrintTo(Anew anew, std::ostream* out) {
  *out << std::array{"nothing", "the shard", "its protection",
                     "its mirrors"}[static_cast<int>(anew)];
}

/// Settings of a shard, and the parts that a reload replaces if the setting changes. Other settings
/// change nothing. A read preference changes the default of ha_strategy.
const std::map<std::string_view, Anew> kPartsOfAShard{
    {"ha_strategy", Anew::mirrors},
    {"read_preference", Anew::mirrors},
    {"ping_type", Anew::mirrors},
    {"ping_path", Anew::mirrors},
    {"karma_compound", Anew::mirrors},
    {"choices", Anew::mirrors},
    {"slow_start", Anew::mirrors},
    {"dead_after", Anew::mirrors},
    {"ha_ping_interval", Anew::mirrors},
    {"tags_in_flat", Anew::mirrors},
    {"retry_budget_percent", Anew::protection},
    {"retry_budget_min", Anew::protection},
    {"breaker", Anew::protection},
    {"breaker_reads", Anew::protection},
    {"breaker_writes", Anew::protection},
    {"breaker_window", Anew::protection},
    {"outlier", Anew::protection},
    {"outlier_failures", Anew::protection},
    {"outlier_failure_percent", Anew::protection},
    {"outlier_latency_factor", Anew::protection},
    {"outlier_time", Anew::protection},
    {"outlier_longest_time", Anew::protection},
    {"outlier_most_percent", Anew::protection},
    {"outlier_panic_percent", Anew::protection},
};

/// The texts whose meaning is not judged by their type.
const std::map<std::string_view, std::string_view> kTexts{
    {"ha_strategy", "noerrors"},    {"ping_type", "manticore"},
    {"ping_path", "/other"},        {"hedge", "p95"},
    {"max_in_flight", "7"},         {"access_log", "-"},
    {"read_preference", "nearest"}, {"tag_sets", "dc:ny"},
    {"outlier", "failures"},        {"outlier_latency_factor", "4"},
};

/// A value of the setting that is not its default; empty: this test has none.
template <class Owner>
std::string other_value(const Key<Owner>& key) {
  if (const auto text = kTexts.find(key.name); text != kTexts.end())
    return std::string(text->second);
  const auto value = [&]<class Field>(Field field) -> std::string {
    const auto of = [&]<class T>(const T& now) -> std::string {
      if constexpr (std::is_same_v<T, bool>)
        return now ? "0" : "1";
      else if constexpr (std::is_enum_v<T>)
        return std::string(words<T>()[now == T{} ? 1 : 0]);
      else if constexpr (std::is_same_v<T, Micros>)
        return now == 0us ? "90s" : time_text(2 * now);
      else if constexpr (std::is_same_v<T, std::size_t>)
        return fmt::format("{}", now / 2);
      else if constexpr (std::is_same_v<T, unsigned>)
        return fmt::format("{}", now < key.bounds.highest ? now + 1 : now - 1);
      else if constexpr (std::is_same_v<T, double>)
        return "0.4";
      else if constexpr (std::is_same_v<T, Rate>)
        return "50/s";
      else if constexpr (std::is_same_v<T, AddressRanges>)
        return "10.0.0.0/8";
      else if constexpr (std::is_same_v<T, AppNames>)
        return "nightly";
      else if constexpr (std::is_same_v<T, TicketCount>)
        return "90";
      else if constexpr (std::is_same_v<T, MemorySize>)
        return "3g";
      else if constexpr (std::is_same_v<T, std::vector<Micros>>)
        return "2s";
      else
        return "";
    };
    const Owner defaults;
    if constexpr (requires { (defaults.*field).at; })
      return of((defaults.*field).value);
    else if constexpr (requires { (defaults.*field)->at; })
      return of(typename std::decay_t<decltype(*(defaults.*field))>().value);
    else
      return "";
  };
  return std::visit(value, key.field);
}

/// Shards whose mirrors have different roles, so that every setting of a shard has an effect.
std::string file(const std::string& searchd, const std::string& table, const std::string& mirror,
                 const std::string& line) {
  return fmt::format(
      "searchd {{\n{}\n}}\n"
      "table t {{\n type = distributed\n{}\n"
      " agent = a:1[role=primary{}]|b:1[role=replica][ha_strategy=nodeads{}]\n"
      " agent = c:1[role=primary]|d:1\n}}\n",
      searchd, table, mirror, line);
}

/// The parts of the shard at that position that the second configuration replaces.
Anew made_anew(const std::string& before, const std::string& after, std::size_t place) {
  Built built;
  const auto shard = [&](const std::string& text) -> std::shared_ptr<Shard> {
    const auto topology = built.build(text);
    for (const auto& problem : built.problems) ADD_FAILURE() << karmad::text(problem) << text;
    return topology ? topology->find("t")->shards[place] : nullptr;
  };
  const auto old = shard(before);
  const auto now = shard(after);
  if (!old || !now) return Anew::nothing;
  const bool equal =
      static_cast<const ShardDefinition&>(*old) == static_cast<const ShardDefinition&>(*now);
  EXPECT_EQ(equal, old == now) << after;
  if (old->mirrors != now->mirrors) return Anew::mirrors;
  if (old->protection_rules != now->protection_rules) return Anew::protection;
  return old == now ? Anew::nothing : Anew::shard;
}

/// One key set in `searchd` or in the table, against a configuration without it.
template <class Owner>
std::size_t expect_anew(std::span<const Key<Owner>> keys) {
  std::size_t settings = 0;
  for (const auto& key : keys) {
    if (!key.alias_of.empty()) continue;
    const auto value = other_value(key);
    if (value.empty()) continue;
    // They need a token and certificates.
    if (key.name == "admin_on_query_port" || key.name.starts_with("tls_")) continue;
    ++settings;
    std::string breaker = key.name == "breaker" ? "" : " breaker = 1\n";
    if (key.name.starts_with("outlier_")) breaker += " outlier = on\n";
    const auto at = [&](const std::string& lines) {
      return std::is_same_v<Owner, InstanceSettings> ? file(breaker + lines, "", "", "")
                                                     : file(breaker, lines, "", "");
    };
    const auto beside =
        key.beside.empty() ? std::string() : fmt::format(" {} = nearest\n", key.beside);
    const auto before = at(beside);
    const auto after = at(beside + fmt::format(" {} = {}", key.name, value));
    const auto part = kPartsOfAShard.find(key.name);
    const auto wanted = part == kPartsOfAShard.end() ? Anew::nothing : part->second;
    EXPECT_EQ(made_anew(before, after, 1), wanted) << after;
    EXPECT_EQ(made_anew(after, before, 1), wanted) << "back: " << after;
    EXPECT_EQ(made_anew(after, after, 1), Anew::nothing) << after;
  }
  return settings;
}

TEST(ReloadRules, OneSettingOfSearchdReplacesWhatDependsOnIt) {
  EXPECT_GE(expect_anew(searchd_keys()), 100U);
}

TEST(ReloadRules, OneSettingOfATableReplacesWhatDependsOnIt) {
  EXPECT_GE(expect_anew(table_keys()), 20U);
}

TEST(ReloadRules, AReadPreferenceMattersInASetWithoutRoles) {
  const std::string plain = "table t {\n type = distributed\n agent = a:1|b:1\n";
  EXPECT_EQ(made_anew(plain + "}\n", plain + " read_preference = nearest\n}\n", 0), Anew::mirrors);
  EXPECT_EQ(made_anew(plain + "}\n", plain + "}\nsearchd {\n ha_ping_interval = 2s\n}\n", 0),
            Anew::nothing)
      << "pings follow a new interval by themselves";
}

TEST(ReloadRules, OneOptionOfALineReplacesWhatDependsOnIt) {
  const struct {
    const char* mirror;
    const char* line;
    Anew wanted;
  } cases[] = {
      {"", ",retry_count=3", Anew::shard},
      {"", ",conn=pconn", Anew::shard},
      {"", ",ping_type=manticore", Anew::mirrors},
      {"", ",ping_path=/x", Anew::mirrors},
      {"", ",set=s", Anew::mirrors},
      {",tags=dc:ny", "", Anew::mirrors},
      {",weight=3", "", Anew::nothing},
      {",state=drain", "", Anew::nothing},
      {",weight=1", "", Anew::nothing},
      {",max_in_flight=3", "", Anew::nothing},
  };
  const auto plain = file("", "", "", "");
  for (const auto& c : cases) {
    EXPECT_EQ(made_anew(plain, file("", "", c.mirror, c.line), 0), c.wanted) << c.mirror << c.line;
    EXPECT_EQ(made_anew(plain, file("", "", c.mirror, c.line), 1), Anew::nothing)
        << "the other line: " << c.mirror << c.line;
  }
}

TEST(ReloadRules, HowALineIsWrittenDoesNotMatter) {
  const auto with = [](const char* line) {
    return std::string("table t {\n type = distributed\n agent = ") + line + "\n}\n";
  };
  EXPECT_EQ(made_anew(with("a:1:x|b:1:x"), with("a:1 | b:1:x [ ]"), 0), Anew::nothing);
  EXPECT_EQ(made_anew(with("a:1:x|b:1:x"), with("b:1:x|a:1:x"), 0), Anew::mirrors);
}

TEST(ReloadRules, LinesThatAreAlikeKeepAShardEach) {
  const std::string twins =
      "table t {\n type = distributed\n agent = a:1|b:1:x\n agent = a:1|b:1:x\n}\n";
  Built built;
  const auto before = built.build(twins)->find("t")->shards;
  EXPECT_NE(before[0], before[1]);
  EXPECT_EQ(built.build(twins)->find("t")->shards, before);
}

TEST(ReloadRules, WhatIsInheritedIsAsGoodAsWhatIsSetThere) {
  EXPECT_EQ(made_anew(file(" retry_budget_percent = 30\n ping_path = /x", "", "", ""),
                      file("", " ping_path = /x\n retry_budget_percent = 30", "", ""), 1),
            Anew::nothing);
}

}  // namespace
}  // namespace karmad
