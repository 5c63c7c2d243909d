#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>

#include "tests/agent/ping_kinds/ping_answers.hpp"

namespace karmad {
namespace {

/// Every kind with answers it understands.
struct Known {
  std::string_view kind;
  std::vector<std::string> bodies;
};
std::vector<Known> known_answers() {
  return {{"native", {std::string(kNative)}},
          {"manticore", {one_cluster("primary", "synced")}},
          {"elasticsearch", {std::string(kHealth), std::string(kNode)}},
          {"solr",
           {std::string(kCore),
            cluster_state(replica("n", "books", "10.0.0.1:8983", R"("state":"active")"))}}};
}

/// Describes from bytes in blocks of exactly their size, so that a sanitizer sees a look beyond.
bool survives(std::string_view kind, const std::vector<std::string>& bodies) {
  std::vector<std::unique_ptr<char[]>> blocks;
  std::vector<PingAnswer> answers;
  for (const auto& body : bodies) {
    auto& block = blocks.emplace_back(std::make_unique<char[]>(body.size()));
    std::memcpy(block.get(), body.data(), body.size());
    answers.push_back({200, {block.get(), body.size()}});
  }
  return ping_kind(kind)->describe(answers, kMe, "books").has_value();
}

TEST(PingAnswers, CutShortAreRefused) {
  for (const auto& [kind, bodies] : known_answers()) {
    EXPECT_TRUE(survives(kind, bodies)) << kind;
    for (std::size_t i = 0; i < bodies.size(); ++i)
      for (std::size_t size = 0; size < bodies[i].size(); ++size) {
        auto cut = bodies;
        cut[i].resize(size);
        EXPECT_FALSE(survives(kind, cut)) << kind << ' ' << size;
      }
  }
}

TEST(PingAnswers, WithFlippedBytesNeverCrash) {
  std::mt19937 random(1);
  std::size_t refused = 0;
  for (const auto& [kind, bodies] : known_answers())
    for (int round = 0; round < 5'000; ++round) {
      auto flipped = bodies;
      auto& body = flipped[random() % flipped.size()];
      constexpr std::string_view kLikely = "{}[]\",:\\0-.eEtfn \xFF\x00u";
      for (auto n = 1 + random() % 3; n > 0; --n)
        body[random() % body.size()] =
            random() % 2 == 0 ? kLikely[random() % kLikely.size()] : static_cast<char>(random());
      refused += survives(kind, flipped) ? 0 : 1;
    }
  EXPECT_GT(refused, 5'000U);
}

TEST(PingAnswers, NestedWithoutEndAreRefused) {
  for (const auto depth : {32U, 33U, 500'000U}) {
    const auto nested =
        std::string(R"({"x":)") + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
    EXPECT_EQ(parse_description(nested).has_value(), depth <= 32) << depth;
    for (const auto& [kind, bodies] : known_answers())
      survives(kind, std::vector(bodies.size(), nested));
  }
  EXPECT_FALSE(parse_description(std::string("{}\0{}", 5)));
}

}  // namespace
}  // namespace karmad
