// The generation of each shard, which an answer tells and a later request gives back (CO-077).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kFound =
    R"({"took":0,"timed_out":false,"hits":{"total":0,"total_relation":"eq","hits":[]}})";

Reaction found_at(int generation) {
  return refused(200, fmt::format("X-Generation: {}\r\n", generation), kFound);
}
Reaction inserted_at(int generation) {
  return refused(201, fmt::format("X-Generation: {}\r\n", generation),
                 R"({"table":"t","id":1,"created":true,"result":"created","status":201})");
}

/// Its X-Generation; empty: it has none.
std::string generations(const Response& answer) {
  const auto field = answer.fields.find("x-generation");
  return field == answer.fields.end() ? std::string() : field->second;
}

/// The value of X-Min-Generation in the last request of this mirror; empty: it had none.
std::string generation_asked_of(const FakeMirror& mirror) {
  const auto request = mirror.seen().back();
  constexpr std::string_view name = "X-Min-Generation: ";
  const auto at = request.find(name);
  if (at == request.npos) return {};
  const auto begin = at + name.size();
  return request.substr(begin, request.find('\r', begin) - begin);
}

/// One mirror of each shard of the table `t`.
struct Shards {
  explicit Shards(const std::vector<Reaction>& reactions)
      : count(reactions.size()), mirrors(count) {
    for (std::size_t i = 0; i < count; ++i) mirrors[i].react(always(reactions[i]));
  }
  std::string table(const std::string& settings = {}) {
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < count; ++i) lines.push_back(line_of({mirrors[i].address()}));
    return table_of(lines, settings);
  }
  std::size_t count;
  FakeSet mirrors;
};

/// Searches the table `t`.
Response search_t(const Master& master, std::string_view fields = {}) {
  return ask(master.port(), "POST", "/search", R"({"table":"t"})", fields);
}

TEST(Generations, OfEachShardAreInTheAnswerAndCanBeGivenBackAsTheyStand) {  // CO-077
  Shards shards({found_at(17), found_at(4), found_at(1)});
  const Master master(taking_turns(), shards.table());
  const auto seen = generations(search_t(master));
  EXPECT_EQ(seen, "1=17,2=4,3=1");
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "");
  const auto again = search_t(master, "X-Min-Generation: " + seen + "\r\n");
  EXPECT_EQ(again.status, 200) << again.body;
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "17");
  EXPECT_EQ(generation_asked_of(shards.mirrors[1]), "4");
  EXPECT_EQ(generation_asked_of(shards.mirrors[2]), "1");
  search_t(master, "X-Min-Generation: 2=9\r\n");
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "");
  EXPECT_EQ(generation_asked_of(shards.mirrors[1]), "9");
  search_t(master, "X-Min-Generation: 5\r\n");
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "5");
  EXPECT_EQ(generation_asked_of(shards.mirrors[2]), "5");
}

TEST(Generations, OfATableWithOneShardAreANumber) {  // CO-077
  Shards shards({found_at(17)});
  const Master master(taking_turns(), shards.table());
  EXPECT_EQ(generations(search_t(master)), "17");
  EXPECT_EQ(search_t(master, "X-Min-Generation: 17\r\n").status, 200);
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "17");
  EXPECT_EQ(search_t(master, "X-Min-Generation: 1=18\r\n").status, 200);
  EXPECT_EQ(generation_asked_of(shards.mirrors[0]), "18");
}

TEST(Generations, OfShardsThatToldNoneOrHaveNoAnswerAreLeftOut) {  // CO-077
  for (const auto& missing : {json(kFound), refused(500, "X-Generation: 9\r\n"),
                              refused(200, "X-Generation: latest\r\n", kFound),
                              refused(200, "X-Generation: -1\r\n", kFound)}) {
    SCOPED_TRACE(missing.bytes);
    Shards shards({found_at(3), missing, found_at(8)});
    const Master master(taking_turns("partial_results = allow"), shards.table());
    const auto answer = search_t(master);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(generations(answer), "1=3,3=8");
  }
  Shards silent({json(kFound), json(kFound)});
  const Master master(taking_turns(), silent.table());
  EXPECT_EQ(generations(search_t(master)), "");
}

TEST(Generations, OfARepeatedAnswerAreThoseOfTheMirrorThatGaveIt) {  // CO-077
  FakeSet set(2, found_at(6));
  set[0].react(always(refused(503, "X-Generation: 2\r\n")));
  const Master master(taking_turns(), set.table());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(generations(search_t(master)), "6");
}

TEST(Generations, OfAHedgedSearchAreThoseOfTheFasterMirror) {  // CO-077
  FakeSet set(2, silence());
  set[1].react(always(found_at(6)));
  const Master master(taking_turns("hedge = 10ms"), set.table());
  for (int i = 0; i < 4; ++i) EXPECT_EQ(generations(search_t(master)), "6");
}

TEST(Generations, OfAQuorumReadAreTheNewest) {  // CO-077
  FakeSet set(3, found_at(6));
  set[1].react(always(found_at(5)));
  const Master master(taking_turns(), set.table("consistency = quorum"));
  for (int i = 0; i < 6; ++i) {
    const auto answer = search_t(master);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(generations(answer), "6");
  }
}

TEST(Generations, OfAnUpdateAreThoseOfTheShardsThatItChanged) {  // CO-077
  Shards shards({inserted_at(5), inserted_at(7)});
  const Master master(taking_turns(), shards.table("shard_by = id\n updates = any"));
  std::string seen;
  for (int id = 1; id <= 40; ++id) {
    const auto before = shards.mirrors[0].requests();
    const auto answer =
        post(master.port(), "/insert",
             fmt::format(R"({{"table":"t","id":{},"doc":{{"title":"lamp"}}}})", id));
    EXPECT_LT(answer.status, 300) << answer.body;
    EXPECT_EQ(generations(answer), shards.mirrors[0].requests() > before ? "1=5" : "2=7");
    seen += generations(answer) + " ";
  }
  EXPECT_TRUE(seen.contains("1=5") && seen.contains("2=7")) << seen;
}

TEST(Generations, OfAnUpdateOfEveryCopyAreTheOldest) {  // CO-077
  FakeSet set(3, inserted_at(7));
  set[1].react(always(inserted_at(5)));
  const Master master(taking_turns(), set.table("updates = all"));
  EXPECT_EQ(generations(insert(master)), "5");
}

TEST(Generations, AWriterReadsItsOwnWriteInTheShardThatItChanged) {  // CO-077
  FakeSet mirrors(4);  // a primary and a replica of each shard
  const auto at_seven = [](const std::string& request) {
    return request.starts_with("POST /insert") ? inserted_at(7) : found_at(7);
  };
  const auto at_six = [](const std::string& request) {
    return request.contains("X-Min-Generation: 7\r\n")
               ? refused(404, "X-Sub-Status: 1002\r\nX-Generation: 6\r\n")
               : found_at(6);
  };
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < 4; i += 2) {
    mirrors[i].react(at_seven);
    mirrors[i + 1].react(at_six);
    lines.push_back(fmt::format("{}:products[role=primary]|{}:products[role=replica]",
                                mirrors[i].address(), mirrors[i + 1].address()));
  }
  const RestingMaster master(choosing(), table_of(lines, "shard_by = id"));
  ASSERT_TRUE(master.shows({"primary", "replica"}));
  const auto seen = generations(insert(master));
  ASSERT_TRUE(seen == "1=7" || seen == "2=7") << seen;
  const auto prefers = preferring("secondaryPreferred");
  EXPECT_EQ(generations(search_t(master, prefers)), "1=6,2=6");
  EXPECT_EQ(generations(search_t(master, prefers + "X-Min-Generation: " + seen + "\r\n")),
            seen == "1=7" ? "1=7,2=6" : "1=6,2=7");
}

}  // namespace
}  // namespace karmad::test
