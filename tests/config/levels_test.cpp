#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "config/agent_line.hpp"
#include "config/effective.hpp"
#include "config/settings/inherit.hpp"
#include "config/settings/values.hpp"
#include "tests/config/written.hpp"

namespace karmad {
namespace {

/// A value and the line of the file that gave it; 0: it is a default.
struct Effective {
  std::string value;
  unsigned line = 0;
  bool operator==(const Effective&) const = default;
};
void PrintTo(const Effective& effective, std::ostream* out) {
  *out << effective.value << " of line " << effective.line;
}

template <class Owner>
Effective effective(const Owner& owner, const Key<Owner>& key) {
  const auto read = [&]<class Field>(Field field) -> Effective {
    if constexpr (requires { (owner.*field).at; })
      return {value_text((owner.*field).value, key.bounds), (owner.*field).at.line};
    else if constexpr (requires { (owner.*field)->at; })
      return owner.*field
                 ? Effective{value_text((owner.*field)->value, key.bounds), (owner.*field)->at.line}
                 : Effective{};
    else
      return {};
  };
  return std::visit(read, key.field);
}

template <class Owner>
const Key<Owner>* find(std::span<const Key<Owner>> keys, std::string_view name) {
  const auto found = std::ranges::find(keys, name, &Key<Owner>::name);
  return found == keys.end() ? nullptr : &*found;
}

/// Values of the setting by level, of which neighbours differ.
std::array<std::string, 3> samples(const Key<TableSettings>& key) {
  const auto is = [&]<class T>(T) {
    return std::holds_alternative<Located<T> TableSettings::*>(key.field) ||
           std::holds_alternative<std::optional<Located<T>> TableSettings::*>(key.field);
  };
  if (is(bool{})) return {"1", "0", "1"};
  if (is(Outlier{})) return {"on", "off", "failures"};
  if (is(AgentTls{})) return {"yes", "no", "unverified"};
  if (is(Resolve{})) return {"all", "srv", "all"};
  if (is(PartialResults{})) return {"deny", "allow", "deny"};
  if (is(0U)) return {"5", "6", "7"};
  if (is(Micros{}) || is(std::vector<Micros>{})) return {"5s", "6s", "7s"};
  return {"/a", "/b", "/c"};  // text, which is judged later
}

constexpr std::size_t kSearchd = 0;
constexpr std::size_t kTable = 1;
constexpr std::size_t kLine = 2;
constexpr std::array<unsigned, 3> kLineOf{9, 3, 5};  // in the file below

/// A configuration that sets the key at the levels where there is a value. The table stands before
/// `searchd`, which means nothing.
std::string file(const Key<TableSettings>& key, const std::array<std::string, 3>& at) {
  const auto set = [&](std::size_t level) {
    return at[level].empty() ? std::string() : fmt::format("{} = {}", key.name, at[level]);
  };
  const auto beside = [&](std::size_t level) {
    return at[level].empty() || key.beside.empty() ? "" : fmt::format("{} = nearest", key.beside);
  };
  const auto option = at[kLine].empty() ? "" : fmt::format("[{}={}]", key.name, at[kLine]);
  const bool of_mirror = find(mirror_keys(), key.name) != nullptr;
  return fmt::format(
      "table t {{\n type = distributed\n {}\n {}\n agent = a:1{}|b:2{}\n}}\n"
      "searchd {{\n {}\n {}\n}}\n",
      set(kTable), beside(kTable), of_mirror ? option : "", of_mirror ? "" : option,
      beside(kSearchd), set(kSearchd));
}

Settings load_or_fail(const std::string& text) {
  auto loaded = load_text(text);
  EXPECT_EQ(lines(loaded.problems), Lines{}) << text;
  return loaded.settings ? *std::move(loaded.settings) : Settings{};
}

/// Sets the key at every combination of the levels where it may stand.
void expect_most_specific(const Key<TableSettings>& key) {
  const auto* of_line = find(line_keys(), key.name);
  const auto* of_mirror = find(mirror_keys(), key.name);
  const auto levels = of_line != nullptr || of_mirror != nullptr ? 3U : 2U;
  const auto values = samples(key);
  const auto fallback = effective(empty_table({}), key);
  for (unsigned which = 0; which < 1U << levels; ++which) {
    std::array<std::string, 3> written;
    for (std::size_t level = 0; level < levels; ++level)
      if ((which >> level & 1) != 0) written[level] = values[level];
    const auto text = file(key, written);
    const auto settings = load_or_fail(text);
    ASSERT_EQ(settings.tables.size(), 1U);
    const auto& table = settings.tables[0];
    auto wanted = fallback;
    for (const auto level : {kSearchd, kTable})
      if (!written[level].empty()) wanted = {written[level], kLineOf[level]};
    EXPECT_EQ(effective(table, key), wanted) << text;
    if (of_mirror != nullptr) {
      EXPECT_EQ(effective(table.shards[0].mirrors[1], *of_mirror), wanted) << text;
    }
    if (levels > kLine && !written[kLine].empty()) wanted = {written[kLine], kLineOf[kLine]};
    if (of_line != nullptr) {
      EXPECT_EQ(effective(table.shards[0], *of_line), wanted) << text;
    }
    if (of_mirror != nullptr) {
      EXPECT_EQ(effective(table.shards[0].mirrors[0], *of_mirror), wanted) << text;
    }
    // What is dumped is what each level says itself.
    const auto dumped = load_or_fail(dump(settings));
    EXPECT_EQ(effective(dumped.tables.at(0), key).value, effective(table, key).value) << text;
    EXPECT_EQ(karmad::text(dumped.tables[0].shards[0], dumped.tables[0]),
              karmad::text(table.shards[0], table))
        << text;
  }
}

TEST(Levels, TheMostSpecificWinsAndItsPlaceIsKnown) {  // HA-026
  std::size_t settings = 0;
  for (const auto& key : table_keys()) {
    if (!key.inherited) continue;
    ++settings;
    ASSERT_NE(find(searchd_keys(), key.name), nullptr) << key.name;
    expect_most_specific(key);
  }
  EXPECT_GE(settings, 20U) << "of them one by another name";
}

TEST(Levels, AgentLinesAndMirrorsInheritFromTheTable) {
  const auto names = [](const auto& keys) {
    Lines out;
    for (const auto& key : keys) {
      EXPECT_NE(find(table_keys(), key.name), nullptr) << key.name;
      out.emplace_back(key.name);
    }
    return out;
  };
  EXPECT_EQ(names(line_keys()), (Lines{"ha_strategy", "ping_type", "ping_path"}));
  EXPECT_EQ(names(mirror_keys()),
            (Lines{"agent_tls", "agent_tls_name", "max_in_flight", "resolve"}));
}

TEST(Levels, AReadPreferenceIsTakenWholeFromOneLevel) {  // SS-081
  const auto settings = load_or_fail(
      "searchd {\n read_preference = nearest\n tag_sets = dc:ny\n max_staleness = 2m\n}\n" +
      table(" read_preference = secondary\n agent = a:1") +
      "table u {\n type = distributed\n agent = a:1\n}\n");
  EXPECT_FALSE(settings.tables.at(0).tag_sets);
  EXPECT_FALSE(settings.tables[0].max_staleness);
  EXPECT_EQ(settings.tables.at(1).tag_sets.value().value, "dc:ny");
  EXPECT_EQ(settings.tables[1].max_staleness.value().value, 2min);
}

TEST(Levels, ABadLineStillInheritsSoThatNothingElseSeemsWrong) {
  const auto loaded = load_text(table(" ping_type = none\n agent = a:x:y:z"));
  EXPECT_EQ(loaded.problems.size(), 1U);
}

}  // namespace
}  // namespace karmad
