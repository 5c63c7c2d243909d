#include "fuzz/differential.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <vector>

#include "demo/data/corpus.hpp"
#include "demo/engine/engine.hpp"
#include "demo/engine/membership.hpp"
#include "fuzz/query_run.hpp"
#include "tests/endtoend/differential/compared_answers.hpp"

namespace karmad::test {
namespace {

/// Few, so that a search is fast; enough for groups, ties and pages.
constexpr std::size_t kDocuments = 150;

/// Numbers for a generator, each made of two bytes; zeros behind their end.
class Draws {
 public:
  explicit Draws(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t operator()() { return next_byte() | next_byte() << 8; }

 private:
  std::uint64_t next_byte() {
    if (bytes_.empty()) return 0;
    const auto byte = static_cast<unsigned char>(bytes_.front());
    bytes_.remove_prefix(1);
    return byte;
  }

  std::string_view bytes_;
};

/// A part of the documents, by its number and how many parts there are; made once.
const demo::Engine& engine(std::size_t part, std::size_t parts) {
  static std::map<std::pair<std::size_t, std::size_t>, demo::Engine> made;
  const auto found = made.find({part, parts});
  if (found != made.end()) return found->second;
  return made
      .try_emplace({part, parts},
                   demo::Index(demo::invent_corpus(kDocuments),
                               demo::Part{.number = part, .of = parts, .spread = 7}),
                   std::vector<std::string>{"part"})
      .first->second;
}

Response from_engine(const demo::Engine& of, const demo::HttpRequest& request) {
  auto answer = of.answer(request, demo::Membership(), 0);
  return {.status = answer.status, .fields = {}, .body = std::move(answer.body)};
}

Response from_whole(const std::string& body) {
  return from_engine(engine(0, 1),
                     {.method = "POST", .path = "/search", .query = "", .body = body});
}

Response from_shards(std::size_t shards, const std::string& body) {
  const auto served = served_at("/search");
  const Mirrors mirrors = [&](std::size_t shard, const AgentRequest& sent) {
    auto answer = from_engine(engine(shard, shards), {.method = std::string(sent.method),
                                                      .path = std::string(sent.target),
                                                      .query = "",
                                                      .body = std::string(sent.body)});
    return MirrorAnswer{answer.status, std::move(answer.body)};
  };
  const Exact exact(body);
  Response out;
  out.status = run_query(*served, shards, mirrors,
                         {.method = "POST",
                          .path = "/search",
                          .content_type = "application/json",
                          .body = exact.view()},
                         out.body);
  return out;
}

}  // namespace

void run_differential(std::string_view bytes) {
  Draws draws(bytes);
  const auto shards = 2 + draws() % 4;
  const auto search = SearchGenerator(draws).next();
  const auto merged = [&](const std::string& body) { return from_shards(shards, body); };
  const auto body = search.body("part");
  AllowedDifferences allowed;
  std::string words;
  switch (search.kind) {
    case GeneratedSearch::Kind::mistake:  // of which a mirror tells, or its twin
      return;
    case GeneratedSearch::Kind::unmerged:
      words = refusal_difference(merged(body), allowed);
      break;
    case GeneratedSearch::Kind::composite:
      words = groups_difference(search, page_through(from_whole, search, "part"),
                                page_through(merged, search, "part"), allowed);
      break;
    default:
      words = difference(search, from_whole(body), merged(body), allowed);
  }
  require(words.empty(), words, fmt::format("{}\nover {} shards", body, shards));
}

}  // namespace karmad::test
