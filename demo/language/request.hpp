#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "demo/data/columns.hpp"
#include "demo/language/query.hpp"

namespace karmad {

/// A value that is computed for each hit.
struct Computed {
  std::string name;
  std::string expression;                                     ///< in SQL
  std::function<Literal(const Index&, std::uint32_t)> value;  ///< of a document by its position
  bool shown = true;
};

struct SortKey {
  enum class By : std::uint8_t { score, column, random, distance, fused, computed };
  By by = By::score;
  Column column;
  bool descending = false;
  std::size_t computed = 0;  ///< which one of `SearchRequest::computed`
  bool largest = false;      ///< of a multi-valued column: sort by its largest value
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

enum class Calendar : std::uint8_t { none, minute, hour, day, week, month, quarter, year };

/// How values are mapped to keys of buckets.
struct Grouping {
  enum class Kind : std::uint8_t { terms, histogram, date_histogram };
  std::string name;  ///< of a source of a composite aggregation
  Kind kind = Kind::terms;
  Column column;
  double interval = 0;  ///< of a histogram; seconds of a date histogram with a fixed interval
  double offset = 0;
  bool whole = false;  ///< interval and offset are whole numbers
  Calendar calendar = Calendar::none;
};

struct RangeBucket {
  std::optional<double> from, to;
  std::string from_text, to_text;  ///< as in answers
  std::string key;
};

struct BucketOrder {
  bool by_count = false;
  bool descending = false;
  std::size_t source = 0;  ///< of a composite aggregation: which one
};

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
  Column column;
  Grouping grouping;                ///< terms, histogram, date_histogram
  std::optional<std::size_t> size;  ///< most buckets of terms and composite
  std::size_t skip = 0;             ///< of terms without a size: as many as hits are skipped
  std::size_t most_groups = 1000;   ///< a composite pages through no more of them
  std::vector<BucketOrder> order;
  bool keyed = false;
  std::vector<RangeBucket> ranges;
  std::vector<Grouping> sources;  ///< composite
  std::vector<Literal> after;     ///< composite: one per source, or empty
  std::vector<double> percents{1, 5, 25, 50, 75, 95, 99};
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

/// Where the next page of a scroll begins.
struct Scroll {
  bool wanted = false;
  std::vector<Literal> after;  ///< a value for each sort key; empty: the first page
};

/// A search, from JSON or SQL.
struct SearchRequest {
  std::string table;
  Query query;
  std::vector<SortKey> sort;  ///< empty: by score, the best first
  std::size_t limit = 20;
  std::size_t offset = 0;
  std::size_t max_matches = 1000;
  std::optional<std::size_t> cutoff;  ///< most documents to find; 0: all; nothing: a page, or all
  bool track_scores = false;
  Source source;
  std::optional<Highlight> highlight;
  std::vector<Aggregation> aggregations;
  std::vector<Computed> computed;
  std::vector<Knn> knn;          ///< several only with `fusion`
  std::optional<Fusion> fusion;  ///< nothing: `query` filters the search for vectors
  Scroll scroll;
  bool profile = false;
  bool plan = false;
  std::vector<std::string> warnings;
};

}  // namespace karmad
