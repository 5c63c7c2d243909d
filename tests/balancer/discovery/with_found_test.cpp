#include "balancer/discovery/found.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "balancer/discovery/source_json.hpp"
#include "config/agent_line.hpp"
#include "config/load.hpp"

namespace karmad {
namespace {

/// The settings of a table `t` with these lines.
Settings found_file(const std::string& lines, const std::string& searchd = "") {
  const auto text =
      fmt::format("searchd {{\n{}\n}}\ntable t {{\n type = distributed\n {}\n}}\n", searchd, lines);
  const Environment only_this{
      .read_file = [&](const std::string&, std::size_t,
                       FileKind) -> std::expected<std::string, std::string> { return text; },
      .glob = {},
      .variable = {}};
  auto loaded = load("c", only_this);
  for (const auto& problem : loaded.problems) ADD_FAILURE() << problem.message;
  return loaded.settings.value_or(Settings());
}

std::vector<std::string> line_texts(const Settings& settings) {
  std::vector<std::string> lines;
  for (const auto& shard : settings.tables.front().shards) lines.push_back(text(shard));
  return lines;
}

FoundMirror found_at(const std::string& host, std::uint16_t port = 9308) {
  return {.address = {.host = host, .port = port, .unix_path = {}}};
}

NamedMirror named_at(const std::string& host, std::uint16_t port = 0,
                     std::optional<unsigned> weight = {}) {
  return {.address = {.host = host, .port = port, .unix_path = {}}, .weight = weight};
}

using LineTexts = std::vector<std::string>;

TEST(WithPictures, ReplacesTheMirrorsOfEachShard) {
  const auto file =
      found_file("discovery = file /m\n agent = a:1:x[weight=3]|b:2:x [ha_strategy=roundrobin]");
  auto first = found_at("10.0.0.1");
  first.role = "primary";
  first.tags = "dc:ny";
  first.weight = 7;
  auto second = found_at("10.0.0.2");
  second.remote = "t_1";
  const auto settings = with_pictures(file, {{"t", {{1, {first}}, {2, {second}}}}});
  EXPECT_EQ(line_texts(settings),
            (LineTexts{"10.0.0.1:9308:x[role=primary,tags=dc:ny,weight=7] [ha_strategy=roundrobin]",
                       "10.0.0.2:9308:t_1[weight=1]"}));
}

TEST(WithPictures, HasAMirrorOnceWhoseRemoteIsNamedByOneEntryOnly) {
  const auto file = found_file("discovery = file /m\n agent = z:1:x");
  auto named = found_at("b");
  named.remote = "x";
  named.weight = 5;
  auto other = found_at("b");
  other.remote = "y";
  const auto settings = with_pictures(file, {{"t", {{1, {found_at("b"), other, named}}}}});
  EXPECT_EQ(line_texts(settings), LineTexts{"b:9308:x[weight=1]|b:9308:y[weight=1]"});
}

TEST(WithPictures, KeepsTheMirrorsOfTheFileWithoutAPicture) {
  const auto file = found_file("discovery = file /m\n agent = a:1:x");
  EXPECT_EQ(line_texts(with_pictures(file, {})), LineTexts{"a:1:x"});
  EXPECT_EQ(line_texts(with_pictures(file, {{"t", {{2, {found_at("b")}}}}})),
            (LineTexts{"a:1:x", "b:9308:t[weight=1]"}));
}

TEST(WithPictures, GivesAShardWithoutMirrorsOneThatStandsForNone) {
  const auto settings = with_pictures(found_file("discovery = file /m"), {});
  ASSERT_EQ(settings.tables[0].shards.size(), 1u);
  const auto& address = settings.tables[0].shards[0].mirrors.at(0).address;
  EXPECT_TRUE(is_placeholder(address));
  EXPECT_EQ(table_of_placeholder(address), "t");
  const auto gap =
      with_pictures(found_file("discovery = file /m"), {{"t", {{2, {found_at("b")}}}}});
  ASSERT_EQ(gap.tables[0].shards.size(), 2u);
  EXPECT_TRUE(is_placeholder(gap.tables[0].shards[0].mirrors.at(0).address));
  EXPECT_FALSE(is_placeholder(gap.tables[0].shards[1].mirrors.at(0).address));
}

TEST(WithNames, ReplacesANameByItsMirrors) {
  const auto file = found_file("agent = all.x:7:t[resolve=all,weight=4]|_s._tcp.y:t|one.x:8");
  std::vector<std::string> cuts;
  const auto settings =
      with_names(file,
                 {{{"all.x", false}, {named_at("10.0.0.1"), named_at("10.0.0.2")}},
                  {{"_s._tcp.y", true}, {named_at("10.0.1.1", 80, 5), named_at("10.0.1.2", 81, 0)}},
                  {{"one.x", false}, {named_at("10.9.9.9")}}},
                 cuts);
  EXPECT_EQ(line_texts(settings),
            LineTexts{"10.0.0.1:7:t[weight=4,resolve=all]|"
                      "10.0.0.2:7:t[weight=4,resolve=all]|"
                      "10.0.1.1:80:t[weight=5]|10.0.1.2:81:t[weight=0]|one.x:8:t"});
  EXPECT_TRUE(cuts.empty());
}

TEST(WithNames, KeepsANameWithoutAnAnswer) {
  const auto file = found_file("agent = all.x:7:t", " resolve = all");
  std::vector<std::string> cuts;
  EXPECT_EQ(line_texts(with_names(file, {}, cuts)), LineTexts{"all.x:7:t[resolve=all]"});
}

TEST(WithNames, UsesAnAddressOfTwoNamesOnce) {
  const auto file = found_file("agent = a.x:7:t|b.x:7:t", " resolve = all");
  std::vector<std::string> cuts;
  const auto settings = with_names(
      file, {{{"a.x", false}, {named_at("10.0.0.1")}}, {{"b.x", false}, {named_at("10.0.0.1")}}},
      cuts);
  EXPECT_EQ(settings.tables[0].shards[0].mirrors.size(), 1u);
}

TEST(WithNames, CutsASetAt64MirrorsInTheOrderOfAddressesThoseWithAWeightFirst) {
  const auto file = found_file("agent = _s._tcp.x:t");
  std::vector<NamedMirror> many{named_at("10.0.0.1", 80, 0)};
  for (int i = 70; i > 1; --i) many.push_back(named_at(fmt::format("10.0.0.{}", 100 + i), 80, 1));
  std::vector<std::string> cuts;
  const auto settings = with_names(file, {{{"_s._tcp.x", true}, many}}, cuts);
  const auto& mirrors = settings.tables[0].shards[0].mirrors;
  ASSERT_EQ(mirrors.size(), 64u);
  EXPECT_EQ(mirrors.front().address.host, "10.0.0.102");
  EXPECT_EQ(mirrors.back().address.host, "10.0.0.165");
  EXPECT_EQ(cuts, std::vector<std::string>{
                      "table t: 70 mirrors of a shard were found; the first 64 are used"});
}

TEST(Questions, AreAskedForNamesOnly) {
  const auto file = found_file(
      "agent = a.x:7:t|10.0.0.1:7:t|[::1]:7:t|/sock:t|_s._tcp.x:t|b.x:1:t[resolve=all]\n"
      " agent_blackhole = c.x:1:t");
  EXPECT_EQ(questions_of(file, false),
            (std::set<NameQuestion>{
                {"_s._tcp.x", true}, {"a.x", false}, {"b.x", false}, {"c.x", false}}));
  EXPECT_EQ(questions_of(file, true),
            (std::set<NameQuestion>{{"_s._tcp.x", true}, {"b.x", false}}));
  EXPECT_TRUE(questions_of(with_pictures(found_file("discovery = file /m"), {}), false).empty());
}

TEST(Pictures, TakeTheEntriesOfTheTableAndThoseOfAll) {
  const auto entries = read_entries(
      R"([{"address":"a:1"},{"address":"b:1","table":"T","shard":2},{"address":"c:1","table":"u"}])");
  ASSERT_TRUE(entries);
  EXPECT_EQ(picture_of(*entries, "t"), (Picture{{1, {found_at("a", 1)}}, {2, {found_at("b", 1)}}}));
}

TEST(Pictures, KeepTheLastMirrorsOfAShardThatHasNoneAnyMore) {
  std::vector<unsigned> kept;
  const auto table = found_file("discovery = file /f").tables[0];
  const auto next = next_picture(table, {{1, {found_at("a")}}, {2, {found_at("b")}}},
                                 {{1, {found_at("c")}}, {3, {found_at("d")}}}, kept);
  EXPECT_EQ(next, (Picture{{1, {found_at("c")}}, {2, {found_at("b")}}, {3, {found_at("d")}}}));
  EXPECT_EQ(kept, std::vector<unsigned>{2});
}

// An answer would have its rows twice.
TEST(Pictures, KeepNoMirrorThatIsInAnotherShardNow) {
  const Picture last{{1, {found_at("a")}}, {2, {found_at("b"), found_at("c")}}};
  std::vector<unsigned> kept;
  const auto same = found_file("discovery = file /f").tables[0];
  EXPECT_EQ(next_picture(same, last, {{1, {found_at("b")}}}, kept),
            (Picture{{1, {found_at("b")}}, {2, {found_at("c")}}}));
  EXPECT_EQ(kept, std::vector<unsigned>{2});
  kept.clear();
  const Picture moved{{1, {found_at("c"), found_at("b")}}};
  EXPECT_EQ(next_picture(same, last, moved, kept), moved);
  EXPECT_TRUE(kept.empty());
  const auto other = found_file("discovery = file /f\n agent = x:1:t_1\n agent = x:1:t_2");
  EXPECT_EQ(next_picture(other.tables[0], last, moved, kept),
            (Picture{{1, moved.at(1)}, {2, last.at(2)}}))
      << "there it has another table";
}

TEST(MirrorChanges, NameWhatCameAndWent) {
  const auto before = found_file("agent = a:1:t|b:1:t");
  EXPECT_EQ(mirror_changes(before, found_file("agent = b:1:t|c:1:t")),
            "table t: 1 new (c:1), 1 gone (a:1)");
  EXPECT_EQ(mirror_changes(before, before), "");
}

}  // namespace
}  // namespace karmad
