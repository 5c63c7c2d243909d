#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace karmad::test {

/// A search whose answer several shards and one table should agree on.
struct GeneratedSearch {
  enum class Kind : std::uint8_t {
    page,       ///< hits, aggregations or both
    nearest,    ///< of a vector, or of a document
    composite,  ///< a composite aggregation to be paged through to its end
    mistake,    ///< one the search server refuses
    unmerged,   ///< one that docs/merging.md says is refused on several shards
  };
  Kind kind = Kind::page;
  bool capitals = false;   ///< the table is called in capitals
  bool twice = false;      ///< by `table` and by `index`
  std::string rest;        ///< the members of the body behind `table`
  bool by_weight = false;  ///< sorted by floats some of which print alike; they are shown
  /// Aggregations that need not be equal: `sum` of floats, of integers that overflow ("wide"),
  /// `avg`, `terms` by count of a field with more groups than a shard may be asked for, and by
  /// keys that tie ("tied").
  std::map<std::string, std::string> inexact;

  // Of a composite: `rest` is without the aggregation, which these make up.
  std::vector<std::string> fields;  ///< of its sources, which are called s0, s1 …
  std::size_t size = 0;             ///< of a page; 0: not said
  bool sorted = false;              ///< by all of its sources, as the sources stand

  std::string body(std::string_view table) const;
  /// The body of a composite's page behind `after`, JSON of its key; empty: the first page.
  std::string page(std::string_view table, std::string_view after) const;
};

/// Mistakes of the client in texts that match no known phrase: karmad must recognize them without
/// one.
std::vector<GeneratedSearch> other_mistakes();

/// Draws searches for the demo agent's catalogue: in one build the same from the same numbers.
class SearchGenerator {
 public:
  explicit SearchGenerator(std::function<std::uint64_t()> dice) : dice_(std::move(dice)) {}
  explicit SearchGenerator(std::uint64_t seed) : SearchGenerator(std::mt19937_64(seed)) {}
  GeneratedSearch next();

 private:
  std::size_t below(std::size_t limit) { return dice_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  std::string_view one_of(const List& list) {
    return list[below(std::size(list))];
  }

  std::string word();
  std::string query(int depth);
  std::string filter();
  std::string sort(GeneratedSearch& out);
  std::string source(bool shows_weight);
  std::string window(bool has_aggregations);
  std::string aggregation(GeneratedSearch& out, const std::string& name, bool sized);
  std::string terms(GeneratedSearch& out, const std::string& name, bool sized);
  std::string metric(GeneratedSearch& out, const std::string& name);
  GeneratedSearch page();
  GeneratedSearch nearest();
  GeneratedSearch composite();
  GeneratedSearch refused(GeneratedSearch::Kind kind);

  std::function<std::uint64_t()> dice_;
};

}  // namespace karmad::test
