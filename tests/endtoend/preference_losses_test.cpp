// No query is lost while a mirror of any level of its read preference works, however the preferred
// mirrors fail (SS-146, X-19).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

/// Answers every second search, beginning with a failure.
FakeMirror::React every_second(const Reaction& failure) {
  return [failure, n = 0](const std::string&) mutable {
    return n++ % 2 == 0 ? failure : nothing_found();
  };
}

const Reaction kError = json(R"({"error":"internal error"})", 500);
const Reaction kReset{"", Reaction::Then::reset};

/// A table whose first mirror is in the last level of the read preference.
struct Preferring {
  std::string_view name;
  std::string settings;
  std::vector<std::string> options;  ///< of its mirrors
  std::string searchd = "";
};
const Preferring kPreferences[] = {
    {"secondaryPreferred",
     "read_preference = secondaryPreferred",
     {"role=primary", "role=replica", "role=replica"}},
    {"primaryPreferred",
     "read_preference = primaryPreferred",
     {"role=replica", "role=primary", "role=other"}},
    {"tags",
     "read_preference = nearest\n tag_sets = dc:a|",
     {"role=primary", "role=replica,tags=dc:a", "role=replica,tags=dc:a"}},
    {"zones",
     "read_preference = nearest\n tag_sets = zone:a|zone:b",
     {"role=primary,tags=zone:b", "role=replica,tags=zone:a", "role=replica,tags=zone:a"}},
    {"tags in a flat set",
     "read_preference = nearest\n tag_sets = dc:a|",
     {"tags=dc:b", "tags=dc:a", "tags=dc:a"},
     "tags_in_flat = 1\n "},
    {"weights",
     "read_preference = secondaryPreferred",
     {"role=primary,weight=0", "role=replica,weight=0", "role=replica"}}};

class PreferredMirrors : public testing::TestWithParam<Preferring> {
 protected:
  /// `shards` lines with three mirrors each.
  std::string table(std::size_t shards = 1) {
    std::vector<std::string> lines;
    for (std::size_t shard = 0; shard < shards; ++shard) {
      auto& set = *sets.emplace_back(std::make_unique<FakeSet>(3));
      std::string line;
      for (std::size_t i = 0; i < 3; ++i)
        line += fmt::format("{}{}:products[{}]", i == 0 ? "" : "|", set[i].address(),
                            GetParam().options[i]);
      lines.push_back(line);
    }
    return table_of(lines, GetParam().settings);
  }
  /// The mirrors that are preferred.
  void react(const FakeMirror::React& second, const FakeMirror::React& third) {
    for (const auto& set : sets) {
      (*set)[1].react(second);
      (*set)[2].react(third);
    }
  }
  /// Waits until the roles of all mirrors are known.
  static bool has_pinged(const RestingMaster& master) {
    return eventually([&] {
      for (std::size_t i = 0; i < 3; ++i)
        if (master.word_of(i, "role") == "unknown") return false;
      return true;
    });
  }
  static int lost(const Master& master, int searches) {
    int lost = 0;
    for (int i = 0; i < searches; ++i) {
      const auto answer = master.search(kFindAll);
      lost += answer.status != 200 || answer.body.contains("\"warning\"") ? 1 : 0;
    }
    return lost;
  }

  std::vector<std::unique_ptr<FakeSet>> sets;
};
INSTANTIATE_TEST_SUITE_P(Each, PreferredMirrors, testing::ValuesIn(kPreferences),
                         [](const auto& tested) {
                           std::string name(tested.param.name);
                           std::ranges::replace(name, ' ', '_');
                           return name;
                         });

TEST_P(PreferredMirrors, LoseNoSearchIfTheyFail) {  // SS-146, X-19
  for (const auto* more :
       {"ha_strategy = random", "ha_strategy = roundrobin", "ha_strategy = nodeads",
        "ha_strategy = adaptive\n outlier = on", "hedge = 20ms", "workers = 2"}) {
    SCOPED_TRACE(more);
    sets.clear();
    const auto one = table();
    if (one.contains("weight") && (std::string_view(more).contains("roundrobin") ||
                                   std::string_view(more).contains("adaptive")))
      continue;  // it has no effect there
    const RestingMaster master(GetParam().searchd + more, one);
    ASSERT_TRUE(has_pinged(master));
    react(always(kError), always(kError));
    EXPECT_EQ(lost(master, 60), 0);
    react(always(kReset), always(kError));
    EXPECT_EQ(lost(master, 30), 0);
    react(every_second(kError), every_second(kReset));
    EXPECT_EQ(lost(master, 100), 0);
    EXPECT_EQ(master.count("retries_refused"), 0);
  }
}

TEST_P(PreferredMirrors, MakeNoAnswerPartialIfTheyFail) {  // SS-146, X-19
  const auto two = table(2);
  const RestingMaster master(GetParam().searchd, two);
  ASSERT_TRUE(has_pinged(master));
  react(always(kError), always(kReset));
  EXPECT_EQ(lost(master, 60), 0);
  EXPECT_EQ(master.count("answers_partial"), 0);
}

// They are left out, and one search per second tries them: they get their searches back.
TEST_P(PreferredMirrors, AreLeftOutWhileTheyFailAndFoundAgain) {  // SS-146
  const RestingMaster master(GetParam().searchd + "ha_strategy = random\n workers = 1", table());
  ASSERT_TRUE(has_pinged(master));
  react(always(kError), always(kError));
  EXPECT_EQ(lost(master, 30), 0);
  const auto& set = *sets[0];
  const auto preferred = [&] { return set.requests() - (*sets[0])[0].requests(); };
  const auto before = preferred();
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(lost(master, 60), 0);
  const auto took =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - began);
  EXPECT_LE(preferred() - before, static_cast<std::size_t>(2 * took.count() + 2));
  react(always(nothing_found()), always(nothing_found()));
  EXPECT_TRUE(eventually([&] {
    const auto first = (*sets[0])[0].requests();
    return lost(master, 10) == 0 && (*sets[0])[0].requests() == first;
  }));
}

// Modes without a further level end with the error, and say why no other mirror was asked.
TEST(StrictPreference, IsNotLeftAndTheTraceSaysSo) {  // SS-035, X-19
  FakeSet mirrors(3);
  mirrors[1].react(always(kError));
  mirrors[2].react(always(kError));
  const RestingMaster master(
      "workers = 1\n status_on_query_port = yes",
      mirrors.table("read_preference = secondary", {"primary", "replica", "replica"}));
  Response last;
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  EXPECT_TRUE(eventually([&] {
    last = master.find("", fmt::format("{}X-Request-Id: the-last\r\n", kTraced));
    return master.count("retries_refused") > 0;
  }));
  EXPECT_GE(last.status, 500);
  EXPECT_EQ(mirrors[0].requests(), 0u);
  ASSERT_TRUE(last.fields.contains("x-karmad-trace"));
  const auto& trace = last.fields.at("x-karmad-trace");
  EXPECT_TRUE(trace.contains("retry refused: the retry budget is used up")) << trace;
  EXPECT_TRUE(trace.contains("is the primary, only replicas are wanted")) << trace;
  EXPECT_TRUE(trace.contains("not known to work")) << trace;
  const auto explained = get(master.port(), "/explain/the-last").body;
  EXPECT_TRUE(explained.contains("retry refused: the retry budget is used up")) << explained;
  EXPECT_TRUE(explained.contains("is the primary, only replicas are wanted")) << explained;
  EXPECT_TRUE(explained.contains("not known to work")) << explained;
}

// The primary answers all searches: the verdict does not say that no mirror can be asked.
TEST(Verdict, CountsAMirrorOfALaterLevelThatAnswers) {  // X-19
  FakeSet mirrors(3);
  mirrors[1].react(always(kError));
  mirrors[2].react(always(kError));
  const RestingMaster master(
      "workers = 1\n ha_ping_interval = 1h",  // pings would end their errors in a row
      mirrors.table("read_preference = secondaryPreferred", {"primary", "replica", "replica"}));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  std::string verdict;
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(master.find().status, 200);
    verdict = master.word("/verdict");
    return verdict.contains("dead");
  })) << verdict;
  EXPECT_TRUE(verdict.contains("1 of 3 mirrors ready")) << verdict;
}

}  // namespace
}  // namespace karmad::test
