#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "demo/language/query.hpp"
#include "demo/sql/expression.hpp"

namespace karmad::demo {

struct SelectItem {
  Expression expression;
  std::string name;             ///< as answers show it
  bool of_all = false;          ///< one of those that `*` stands for
  std::string without_alias{};  ///< the same, as if it had no alias
};

struct OrderKey {
  Expression expression;
  bool descending = false;
  std::string text{};       ///< in the statement
  std::string attribute{};  ///< its name in a scroll token; empty: that of the expression
};

/// What stands around the brackets of a SELECT: its rows are sorted and cut once more.
struct OuterRows {
  std::vector<OrderKey> order;
  std::size_t limit = 20;
  std::size_t offset = 0;
};

/// A SELECT, or a FACET of one. Empty orders: by weight, the best first; then by id.
struct Select {
  std::string table;  ///< empty: one row of constants
  std::vector<SelectItem> items;
  Query match{Everything{}};
  std::vector<Knn> knn;          ///< several only with `fusion`
  std::optional<Fusion> fusion;  ///< nothing: `match` filters the search for vectors
  std::optional<Expression> where, having;
  std::vector<Expression> keys;  ///< of GROUP BY
  std::size_t per_group = 1;     ///< most rows of a group
  std::vector<OrderKey> within, order;
  std::size_t limit = 20;
  std::size_t offset = 0;
  std::size_t max_matches = 1000;
  std::optional<std::size_t> cutoff;  ///< most documents to find; 0: all; nothing: a page, or all
  std::optional<OuterRows> outer;
  bool has_facets = false;
  bool scored = true;           ///< weights are wanted
  bool first_spelling = false;  ///< a group is spelled as the first of its spellings, by bytes
  bool scrolls = false;
  std::vector<Literal> after;  ///< of a scroll: values of the sort keys in the row before the page

  /// Its rows are groups; without keys everything found is one group.
  bool groups() const;
};

/// Which columns of a hit are shown.
struct Source {
  std::vector<std::string> includes;  ///< patterns; empty: all
  std::vector<std::string> excludes;
  bool none = false;
};

struct Highlight {
  Fields fields = Fields::all();
  std::string before = "<b>";
  std::string after = "</b>";
  std::size_t limit = 256;  ///< most characters of a text without a mark; 0: all
};

struct RangeBucket {
  std::optional<double> from, to;
  std::string from_text, to_text;  ///< as in answers
  std::string key;
};

/// An aggregation of a JSON search.
struct Aggregation {
  enum class Kind : std::uint8_t {
    terms,
    histogram,
    date_histogram,
    range,
    date_range,
    composite,
    min,
    max,
    sum,
    avg,
    percentiles,
    unknown,  ///< answers without buckets, as in the search server
  };
  std::string name;
  Kind kind = Kind::unknown;
  /// Of the documents found: its rows have the keys of a bucket and their number, or the value.
  Select select;
  Column column;  ///< of ranges and percentiles
  bool sized = false;
  bool keyed = false;
  std::vector<RangeBucket> ranges;
  std::vector<std::string> sources;  ///< names of the keys of a composite
  std::vector<Literal> after;        ///< composite: one per source, or empty
  std::vector<double> percents{1, 5, 25, 50, 75, 95, 99};
};

/// A search in JSON.
struct SearchRequest {
  Select select;  ///< its items are the `expressions`
  bool track_scores = false;
  Source source;
  std::optional<Highlight> highlight;
  std::vector<Aggregation> aggregations;
  bool profile = false;
  bool plan = false;
  std::vector<std::string> warnings;
};

}  // namespace karmad::demo
