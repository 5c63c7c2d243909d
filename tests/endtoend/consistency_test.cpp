// Searches whose answer several mirrors must agree on: `consistency = quorum` (CO-070 … CO-075).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "tests/support/fake_set.hpp"

namespace karmad::test {
namespace {

constexpr std::string_view kQuorum = "X-Consistency: quorum\r\n";

/// A mirror that reports its generation in answers, in pings, or in both.
class Copy {
 public:
  struct Says {
    std::optional<int> generation;
    bool in_answers = true;
    bool in_pings = false;
    std::string role = "router";
  };
  explicit Copy(Says says)
      : says_(std::move(says)),
        generation_(says_.generation.value_or(0)),
        mirror_([this](const std::string& request) { return react(request); }, true) {}

  std::string address() const { return mirror_.address(); }
  int searches() const { return searches_; }
  int pings() const { return pings_; }
  /// It reaches this generation after this number of pings since its first search.
  void catches_up(int generation, int pings) {
    reaches_ = generation;
    pings_until_ = pings;
  }
  void fails(Reaction reaction) { fails_ = std::move(reaction); }
  void is_at(int generation) { generation_ = generation; }

 private:
  Reaction react(const std::string& request) {
    if (request.starts_with("GET ")) {
      ++pings_;
      if (searched_ && pings_until_ > 0 && --pings_until_ == 0) generation_ = reaches_;
      const auto told =
          says_.in_pings ? fmt::format(R"(,"generation":{})", generation_.load()) : std::string();
      return json(fmt::format(R"({{"role":"{}","set":"s"{}}})", says_.role, told));
    }
    ++searches_;
    searched_ = true;
    if (fails_) return *fails_;
    const auto body = fmt::format(
        R"({{"took":0,"timed_out":false,"hits":{{"total":0,"hits":[]}},"generation":{}}})",
        generation_.load());
    if (!says_.generation || !says_.in_answers) return json(body);
    return refused(200, fmt::format("X-Generation: {}\r\n", generation_.load()), body);
  }

  Says says_;
  std::atomic<int> generation_;
  std::atomic<int> searches_{0};
  std::atomic<int> pings_{0};
  std::atomic<bool> searched_{false};
  int reaches_ = 0;
  int pings_until_ = 0;
  std::optional<Reaction> fails_;
  FakeMirror mirror_;  // last: the others are there while it serves
};

class Copies {
 public:
  explicit Copies(const std::vector<Copy::Says>& all) {
    for (const auto& says : all) copies_.push_back(std::make_unique<Copy>(says));
  }
  /// The same in answers only.
  explicit Copies(const std::vector<int>& generations) {
    for (const auto generation : generations)
      copies_.push_back(std::make_unique<Copy>(Copy::Says{.generation = generation}));
  }
  Copy& operator[](std::size_t i) { return *copies_[i]; }
  std::string table(const std::string& settings = {}) const {
    std::vector<std::string> addresses;
    addresses.reserve(copies_.size());
    for (const auto& copy : copies_) addresses.push_back(copy->address());
    return table_of({line_of(addresses)}, settings);
  }
  int searches() const {
    int sum = 0;
    for (const auto& copy : copies_) sum += copy->searches();
    return sum;
  }

 private:
  std::vector<std::unique_ptr<Copy>> copies_;
};

/// Pings at the start, and on demand.
std::string seldom_pinged(const std::string& more = {}) {
  return taking_turns("ha_ping_interval = 10m\n ping_timeout = 10s\n " + more);
}
const std::string kNative = "ping_type = native";

Copy::Says told_by_pings(int generation, const std::string& role = "router") {
  return {.generation = generation, .in_answers = false, .in_pings = true, .role = role};
}

/// Runs quorum reads of several clients concurrently; ready when all have ended.
class Reads {
 public:
  Reads(const RestingMaster& master, int reads, int clients) {
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client)
      threads.emplace_back([&] {
        for (int i = 0; i < reads / clients; ++i) {
          const auto answer = master.find("", kQuorum);
          const std::lock_guard lock(mutex_);
          if (answer.status == 200) ++answered_;
          ++generations_[at(answer.body, "/generation")];
        }
      });
    for (auto& thread : threads) thread.join();
  }
  int answered() const { return answered_; }
  int of_generation(const std::string& generation) { return generations_[generation]; }

 private:
  std::mutex mutex_;
  int answered_ = 0;
  std::map<std::string, int> generations_;
};

TEST(Quorum, AsksAsManyMirrorsAsAnUpdateCannotHaveMissed) {  // CO-070, CO-071
  const int expected[]{1, 1, 2, 2, 3};
  for (std::size_t mirrors = 1; mirrors <= 5; ++mirrors) {
    SCOPED_TRACE(mirrors);
    Copies copies(std::vector<int>(mirrors, 7));
    const RestingMaster master(taking_turns(), copies.table());
    EXPECT_EQ(master.find("", kQuorum).status, 200);
    EXPECT_EQ(copies.searches(), expected[mirrors - 1]);
    for (std::size_t i = 0; i < mirrors; ++i) EXPECT_LE(copies[i].searches(), 1);
  }
}

TEST(Quorum, IsThatOfTheTableUnlessTheRequestHasAnother) {  // CO-070
  Copies copies({7, 7, 7});
  const RestingMaster master(taking_turns(), copies.table("consistency = quorum"));
  EXPECT_EQ(master.find().status, 200);
  EXPECT_EQ(copies.searches(), 2);
  EXPECT_EQ(master.find("", "X-Consistency: any\r\n").status, 200);
  EXPECT_EQ(copies.searches(), 3);
  EXPECT_EQ(master.find("", "X-Consistency: strong\r\n").status, 400);
}

TEST(Quorum, IsForSearchesOnly) {
  FakeSet mirrors(3, inserted());
  const RestingMaster master(taking_turns(), mirrors.table("updates = any"));
  EXPECT_EQ(insert(master, kQuorum).status, 200);
  EXPECT_EQ(mirrors.requests(), 1U);
}

TEST(Quorum, ItsReadsAreInTheTraceWithTheirReason) {
  Copies copies({7, 7, 7});
  const RestingMaster master(taking_turns(), copies.table());
  const auto trace =
      master.find("", fmt::format("{}{}", kQuorum, kTraced)).fields["x-karmad-trace"];
  EXPECT_EQ(at(trace, "/attempts/0/reason"), "initial") << trace;
  EXPECT_EQ(at(trace, "/attempts/1/reason"), "quorum");
  EXPECT_EQ(at(trace, "/attempts/1/outcome"), "answered");
  EXPECT_EQ(at(trace, "/attempts/2"), "");
  EXPECT_EQ(master.count("quorum_reads"), 1);
  EXPECT_EQ(master.count("agent_retry"), 0) << "the request asked for it";
}

TEST(Quorum, TheAnswerThatHasSeenMostIsGiven) {  // CO-072
  Copies copies(
      {told_by_pings(6), {.generation = 7, .in_pings = true}, {.generation = 7, .in_pings = true}});
  const RestingMaster master(seldom_pinged(), copies.table(kNative));
  ASSERT_TRUE(master.shows({"router", "router", "router"}));
  for (int i = 0; i < 12; ++i) {
    const auto answer = master.find("", kQuorum);
    EXPECT_EQ(answer.status, 200) << answer.body;
    EXPECT_EQ(at(answer.body, "/generation"), "7");
  }
  EXPECT_GT(master.count("quorum_barriers"), 0) << "two that are at 7 were there all the time";
}

// CO-073, CO-074: barrier pings come 5 ms after each other; those of SD-004 would take seconds.
TEST(Quorum, WaitsUntilEnoughMirrorsHaveCaughtUp) {
  Copies copies({told_by_pings(8), told_by_pings(7), told_by_pings(7)});
  copies[1].catches_up(8, 2);
  copies[2].catches_up(8, 2);
  const RestingMaster master(seldom_pinged(), copies.table(kNative));
  ASSERT_TRUE(master.shows({"router", "router", "router"}));
  // Any mirror may be the first; the newest one is read later.
  for (int i = 0; i < 3; ++i) {
    const auto answer = master.find("", kQuorum);
    EXPECT_EQ(answer.status, 200) << answer.body;
    if (copies[0].searches() > 0) {
      EXPECT_EQ(at(answer.body, "/generation"), "8");
    }
  }
  EXPECT_GE(master.count("quorum_barriers"), 1);
  EXPECT_EQ(master.count("quorum_failed"), 0);
}

// CO-072, CO-073: mirrors that can settle the read are asked, not those known to be behind. The
// agents report their generation in answers only, so a barrier has no effect.
TEST(Quorum, OneOldMirrorOfThreeCausesNoFurtherRead) {
  for (const bool with_primary : {false, true}) {
    SCOPED_TRACE(with_primary);
    Copies copies(with_primary ? std::vector<Copy::Says>{{.generation = 8, .role = "primary"},
                                                         {.generation = 7, .role = "replica"},
                                                         {.generation = 8, .role = "replica"}}
                               : std::vector<Copy::Says>{
                                     {.generation = 8}, {.generation = 7}, {.generation = 8}});
    const RestingMaster master(with_primary ? seldom_pinged() : taking_turns(),
                               copies.table(with_primary ? kNative : ""));
    if (with_primary) {
      ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
    }
    Reads reads(master, 240, 4);
    EXPECT_EQ(reads.answered(), 240);
    EXPECT_EQ(reads.of_generation("8"), 240);
    EXPECT_EQ(master.count("quorum_failed"), 0);
    EXPECT_EQ(master.count("quorum_barriers"), 0) << "a third mirror was there to ask";
    EXPECT_GT(master.count("quorum_settling_reads"), 0);
    EXPECT_LT(copies[1].searches(), 120) << "it is known to be behind";
  }
}

// Pings report the generation of the third mirror, so a read would only cost more.
TEST(Quorum, AThirdMirrorWhosePingsReportItsGenerationIsPinged) {
  Copies copies({{.generation = 8, .in_pings = true},
                 {.generation = 7, .in_pings = true},
                 {.generation = 8, .in_pings = true}});
  const RestingMaster master(seldom_pinged(), copies.table(kNative));
  ASSERT_TRUE(master.shows({"router", "router", "router"}));
  Reads reads(master, 30, 1);
  EXPECT_EQ(reads.of_generation("8"), 30);
  EXPECT_EQ(copies.searches(), 60);
  EXPECT_EQ(master.count("quorum_settling_reads"), 0);
}

// No mirror is left out permanently: once it has caught up it is asked like the others.
TEST(Quorum, AMirrorThatHasCaughtUpIsReadAgain) {
  Copies copies({8, 7, 8});
  const RestingMaster master(taking_turns(), copies.table());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.find("", kQuorum).status, 200);
  ASSERT_GT(copies[1].searches(), 0);
  copies[1].is_at(8);
  const auto before = copies[1].searches();
  EXPECT_TRUE(eventually([&] {
    return master.find("", kQuorum).status == 200 && copies[1].searches() >= before + 3;
  }));
}

TEST(Quorum, ThatIsNeverMetIsAnErrorWithEveryGeneration) {  // CO-075
  Copies copies({8, 7, 6});
  const RestingMaster master(taking_turns("max_attempts = 1"), copies.table());
  const auto answer = master.find("", kQuorum);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(at(answer.body, "/error/type"), "quorum_not_met") << answer.body;
  EXPECT_TRUE(answer.body.contains(copies[1].address() + R"(":)")) << answer.body;
  EXPECT_TRUE(answer.body.contains("generation 7") || answer.body.contains("generation 8"))
      << answer.body;
  EXPECT_EQ(copies.searches(), 2) << "the first two count as one of max_attempts";
  EXPECT_EQ(master.count("quorum_failed"), 1);
}

// CO-074: with several zones a barrier takes 970 ms, unless the deadline comes before: it ends with
// the last step of 30 ms before that. If the machine is too busy for an answer in the rest of the
// time, the request ends at its deadline and is sent again.
TEST(Quorum, ABarrierEndsWithTheDeadline) {
  Copies copies({told_by_pings(8), told_by_pings(7), told_by_pings(6)});
  std::string line;
  for (std::size_t i = 0; i < 3; ++i)
    line.append(i > 0 ? "|" : "")
        .append(copies[i].address())
        .append(fmt::format(":products[tags=zone:{}{}]", i, i == 2 ? ",weight=0" : ""));
  const RestingMaster master(seldom_pinged("max_attempts = 1"), table_of({line}, kNative));
  ASSERT_TRUE(master.shows({"router", "router", "router"}));
  const auto read = [&] {
    const auto began = std::chrono::steady_clock::now();
    auto answer = master.find("", fmt::format("{}X-Timeout-Ms: 400\r\n", kQuorum));
    const auto took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, 370ms);
    EXPECT_LT(took, 900ms);
    return answer;
  };
  auto answer = read();
  auto asked = 1;
  for (; answer.status == 504 && asked < 10; ++asked) answer = read();
  EXPECT_EQ(answer.status, 503) << answer.body;
  EXPECT_EQ(at(answer.body, "/error/type"), "quorum_not_met") << answer.body;
  EXPECT_EQ(master.count("quorum_barriers"), asked);
  EXPECT_EQ(master.count("quorum_failed"), 1);
  EXPECT_EQ(copies[2].searches(), 0) << "or a barrier might be met";
}

TEST(Quorum, MirrorsThatSayNoGenerationCannotAgree) {
  Copies copies(std::vector<Copy::Says>(3));
  const RestingMaster master(taking_turns(), copies.table());
  const auto answer = master.find("", kQuorum);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(at(answer.body, "/error/type"), "no_generation") << answer.body;
  EXPECT_EQ(copies.searches(), 2);
  EXPECT_EQ(master.find().status, 200);
}

TEST(Quorum, ItsWinnerIsCountedOnceAlsoWhereShardsAreMerged) {
  Copies first(std::vector{7});
  Copies second(std::vector{7});
  const RestingMaster master(
      taking_turns(), table_of({line_of({first[0].address()}), line_of({second[0].address()})}));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(master.find("", kQuorum).status, 200);
  EXPECT_EQ(master.count("ag_t_1_1_succeeded_queries"), 3);
  EXPECT_EQ(master.count("ag_t_2_1_succeeded_queries"), 3);
}

TEST(Quorum, AMirrorThatFailsIsReplaced) {
  Copies copies({7, 7, 7});
  copies[0].fails(json(R"({"error":"internal error"})", 500));
  const RestingMaster master(taking_turns(), copies.table());
  for (int i = 0; i < 6; ++i) EXPECT_EQ(master.find("", kQuorum).status, 200);
  EXPECT_GT(copies[0].searches(), 0);
  EXPECT_EQ(master.count("agent_retry"), copies[0].searches());
}

TEST(Quorum, APrimaryIsEnoughWhenTooFewAnswer) {  // CO-075
  Copies copies(
      {told_by_pings(7, "primary"), told_by_pings(7, "replica"), told_by_pings(7, "replica")});
  copies[1].fails(json(R"({"error":"internal error"})", 500));
  copies[2].fails(json(R"({"error":"internal error"})", 500));
  const RestingMaster master(seldom_pinged(), copies.table(kNative));
  ASSERT_TRUE(master.shows({"primary", "replica", "replica"}));
  const auto answer = master.find("", kQuorum);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_GT(copies[1].searches() + copies[2].searches(), 0);
  const auto explained = get(master.port(), "/explain/" + answer.fields.at("x-request-id")).body;
  EXPECT_TRUE(explained.contains(R"("chosen_by":"the quorum read")")) << explained;
  EXPECT_FALSE(explained.contains("the error answer")) << explained;
}

TEST(Quorum, TooFewOfASetWithoutAPrimaryIsAnError) {  // CO-075
  Copies copies({7, 7, 7});
  copies[0].fails(json(R"({"error":"internal error"})", 500));
  copies[1].fails(json(R"({"error":"internal error"})", 500));
  const RestingMaster master(taking_turns(), copies.table());
  const auto answer = master.find("", kQuorum);
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(at(answer.body, "/error/type"), "quorum_not_met") << answer.body;
  EXPECT_TRUE(answer.body.contains("internal error")) << answer.body;
  EXPECT_LE(copies.searches(), 2 + 10 - 1);
}

TEST(Quorum, OverloadIsPassedOnAsThat) {
  Copies copies({7, 7, 7});
  for (std::size_t i = 0; i < 3; ++i) copies[i].fails(refused(429, "Retry-After: 1\r\n"));
  const RestingMaster master(taking_turns(), copies.table());
  EXPECT_EQ(master.find("", kQuorum).status, 429);
  EXPECT_LE(copies.searches(), 3) << "those that refused are not asked again";
}

TEST(Quorum, AClientsMistakeIsOne) {
  Copies copies({7, 7, 7});
  for (std::size_t i = 0; i < 3; ++i)
    copies[i].fails(json(R"({"error":"P01: syntax error"})", 400));
  const RestingMaster master(taking_turns(), copies.table());
  EXPECT_EQ(master.find("", kQuorum).status, 400);
  EXPECT_EQ(copies.searches(), 2);
}

TEST(Quorum, EachShardHasItsOwn) {
  Copies first({7, 7, 7});
  Copies second({9, 9, 9, 9, 9});
  auto table = first.table();
  const auto line = second.table();
  const auto from = line.find(" agent =");
  table.insert(table.rfind("}"), line.substr(from, line.rfind("}") - from));
  const RestingMaster master(taking_turns(), table);
  const auto answer = master.find("", kQuorum);
  EXPECT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(first.searches(), 2);
  EXPECT_EQ(second.searches(), 3);
}

TEST(Quorum, EndsWhenItsClientLeaves) {
  Copies copies({7, 7, 7});
  for (std::size_t i = 0; i < 3; ++i) copies[i].fails(silence());
  const RestingMaster master(taking_turns(), copies.table());
  {
    const auto pending = Pending::search(master, "nearest", kQuorum);
    ASSERT_TRUE(eventually([&] { return copies.searches() == 2; }));
  }
  EXPECT_TRUE(eventually([&] { return master.count("clients_left") == 1; }));
}

}  // namespace
}  // namespace karmad::test
