// Searches drawn at random have the same answer from 1, 2, 3 and 5 shards through karmad as from
// one table that holds everything; what may differ is written in docs/merging.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <map>
#include <optional>

#include "tests/endtoend/differential/compared_answers.hpp"
#include "tests/support/cluster.hpp"

namespace karmad::test {
namespace {

/// More than `max_matches`, which a page and a composite end at.
constexpr unsigned kDifferentialDocuments = 1100;
constexpr int kShards[] = {1, 2, 3, 5};

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const auto* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// A connection that is made anew when the other side has closed it.
class Client {
 public:
  explicit Client(int port) : port_(port) {}

  std::function<Response(const std::string& body)> asked() {
    return [this](const std::string& body) { return search(body); };
  }
  Response search(const std::string& body) {
    if (!client_ || !client_->connected()) client_.emplace(port_);
    if (auto answer = client_->request("POST", "/search", body); answer) {
      // After an error either side may close without a word.
      if (answer->status != 200) client_.reset();
      return *answer;
    }
    client_.reset();
    return post(port_, "/search", body);
  }

 private:
  int port_;
  std::optional<HttpClient> client_;
};

/// All documents on one agent, on two mirrors of one shard, and the same over so many shards as
/// tables `of1`, `of2` …
class Differential : public testing::Test {
 protected:
  Differential() {
    std::string tables;
    for (const auto of : kShards) {
      tables += fmt::format("table of{} {{\n type = distributed\n", of);
      // One mirror alone proves no mistake; with two the one shard can be acquitted.
      if (of == 1)
        tables += fmt::format(" agent = {}|{}:products\n", whole_.address(), twin_.address());
      for (int shard = 0; of > 1 && shard < of; ++shard)
        tables += fmt::format(" agent = {}:products\n", part(shard, of).address());
      tables += "}\n";
    }
    master_.emplace("agent_query_timeout = 20s", tables);
  }

  DemoAgent& part(int shard, int of) {
    return agents_.emplace_back(fmt::format("{}/{}", shard, of), "part", 0, kDifferentialDocuments,
                                std::vector<std::string>{"--spread", std::to_string(seed_)});
  }

  /// What differs from the one table, per number of shards in words; empty: nothing.
  std::map<int, std::string> differences(const GeneratedSearch& search, Client& whole,
                                         Client& merged) {
    using Kind = GeneratedSearch::Kind;
    const bool composite = search.kind == Kind::composite;
    const auto groups = composite ? page_through(whole.asked(), search, "products") : PagedGroups();
    const auto expected = composite ? Response() : whole.search(search.body("products"));
    std::map<int, std::string> out;
    for (const auto of : kShards) {
      const auto table = fmt::format("of{}", of);
      if (composite) {
        out[of] = groups_difference(search, groups, page_through(merged.asked(), search, table),
                                    allowed_);
        continue;
      }
      const auto found = merged.search(search.body(table));
      if (search.kind == Kind::unmerged && of > 1)
        out[of] = refusal_difference(found, allowed_);
      else if (search.kind == Kind::mistake)
        out[of] = mistake_difference(expected, found, allowed_);
      else
        out[of] = difference(search, expected, found, allowed_);
    }
    return out;
  }

  const std::uint64_t seed_ = from_environment("KARMAD_DIFFERENTIAL_SEED", 20261123);
  const std::uint64_t searches_ = from_environment("KARMAD_DIFFERENTIAL_SEARCHES", 500);
  DemoAgent whole_{"0/1", "whole", 0, kDifferentialDocuments};
  DemoAgent twin_{"0/1", "twin", 0, kDifferentialDocuments};
  std::deque<DemoAgent> agents_;
  std::optional<Master> master_;
  AllowedDifferences allowed_;
};

TEST_F(Differential, MistakesAreTheClientsAndNoMirrorIsBlamed) {
  ASSERT_TRUE(master_->ready());
  Client whole(whole_.port());
  Client merged(master_->port());
  for (const auto of : kShards)  // until mirrors have answered, errors are theirs
    for (int i = 0; i < 24; ++i)
      ASSERT_EQ(merged.search(fmt::format(R"({{"table":"of{}"}})", of)).status, 200);
  for (const auto& search : other_mistakes())
    for (const auto& [of, words] : differences(search, whole, merged))
      EXPECT_EQ(words, "") << search.rest << " over " << of << " shards";
  for (std::size_t agent = 0; agent < agents_.size() + 2; ++agent)
    EXPECT_EQ(master_->status(fmt::format("ag_{}_errorsarow", agent), "SHOW AGENT STATUS"), "0");
}

// The keys behind an id decide nothing and are not asked for; the scores are shown all the same.
TEST_F(Differential, ScoresBehindAnIdAreShown) {
  ASSERT_TRUE(master_->ready());
  const GeneratedSearch search{.rest =
                                   R"("query":{"match":{"title":"lamp"}},"sort":["id","_score"])"};
  Client whole(whole_.port());
  Client merged(master_->port());
  for (const auto& [of, words] : differences(search, whole, merged)) EXPECT_EQ(words, "") << of;
}

TEST_F(Differential, SearchesOverShardsAnswerAsOneTableWithEverythingDoes) {
  ASSERT_TRUE(master_->ready());
  SearchGenerator generator(seed_);
  Client whole(whole_.port());
  Client merged(master_->port());
  int different = 0;
  for (std::uint64_t i = 0; i < searches_; ++i) {
    const auto search = generator.next();
    for (const auto& [of, words] : differences(search, whole, merged)) {
      if (words.empty()) continue;
      ++different;
      ADD_FAILURE() << "search " << i << " of seed " << seed_ << " over " << of << " shards\n"
                    << (search.fields.empty() ? search.body("products")
                                              : search.page("products", {}))
                    << "\n"
                    << words.substr(0, 700);
    }
  }
  std::cout << fmt::format(
      "{} searches over 1, 2, 3 and 5 shards, seed {} (KARMAD_DIFFERENTIAL_SEED, "
      "KARMAD_DIFFERENTIAL_SEARCHES), {} differ; allowed:\n{}",
      searches_, seed_, different, allowed_.told());
}

}  // namespace
}  // namespace karmad::test
