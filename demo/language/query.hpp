#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <variant>
#include <vector>

#include "demo/data/columns.hpp"
#include "demo/data/index.hpp"

namespace karmad::demo {

struct Everything {};

/// Documents that hold one of the words, or all of them, in any of the fields.
struct Words {
  Fields fields;
  std::vector<std::string> words;
  bool all = false;
  bool first = false;  ///< only at the beginning of a field
};

/// Documents that hold the words in one of the fields in a certain way.
struct Phrase {
  enum class Kind : std::uint8_t {
    exact,      ///< one after the other
    proximity,  ///< within so many places more than the phrase has
    quorum,     ///< so many of them, in any of the fields
    near,       ///< each within so many places of the one before
    before,     ///< in this order
  };
  Fields fields;
  std::vector<std::string> words;
  Kind kind = Kind::exact;
  std::uint32_t number = 0;
};

/// A filter on one column.
struct Condition {
  struct Bound {
    Literal value;
    bool included = true;
  };
  Column column;
  bool quantified = false;      ///< any(column) or all(column)
  bool every = false;           ///< of a multi-valued column: all values instead of any
  std::vector<Literal> one_of;  ///< empty: the bounds decide
  std::optional<Bound> low, high;
  std::shared_ptr<const std::regex> pattern;  ///< that a text must match
  std::function<bool(const Document&)> test;  ///< instead of all others
  bool never = false;                         ///< finds nothing, whatever is combined with it
};

struct Query;

/// All of `must` and `filter`, none of `must_not`, and any of `should` if there is nothing else:
/// then what is found of `should` only ranks.
struct Combination {
  std::vector<Query> must, filter, should, must_not;
};

struct Query {
  std::variant<Everything, Words, Phrase, Condition, Combination> is;
};

/// For each document of an index: whether it was found, and its weight: 1 where nothing ranks, else
/// 1000 for each field and word of the longest run of query words there, and about 500 for how rare
/// its words are.
struct Matches {
  std::vector<std::uint8_t> found;
  std::vector<std::int64_t> weight;
};

Matches evaluate(const Index& index, const Query& query);

/// A document that was found.
struct Hit {
  std::uint32_t document = 0;  ///< position in `Index::documents`
  std::int64_t score = 1;
  double distance = 0;  ///< to the vector of the search, squared
  double fused = 0;     ///< sum over the lists of a fusion
};

/// A search for the `k` documents whose vectors are nearest.
struct Knn {
  std::array<float, 4> vector{};
  /// Its vector instead; it is not found itself. Without it, or its vector, nothing is found.
  std::optional<std::uint64_t> document;
  std::size_t k = 0;
  std::optional<Query> filter;
};

/// Reciprocal rank fusion of the lists of the query and of each search for vectors.
struct Fusion {
  double rank_constant = 60;
  std::size_t window = 0;       ///< most documents of a list; 0: as many as `k` and the page
  std::vector<double> weights;  ///< of the query, then of each search for vectors; missing: 1
};

/// Metres along a great circle, from angles in radians.
double metres_between(double lat1, double lon1, double lat2, double lon2);

/// Whether anything in the query gives a score.
bool ranks(const Query& query);

/// The words that a found document can contain: those outside of `must_not`, and without `filters`
/// also outside of `filter`.
void collect_words(const Query& query, std::vector<std::string>& out, bool filters = true);

}  // namespace karmad::demo
