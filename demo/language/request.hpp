#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "demo/data/columns.hpp"
#include "demo/language/query.hpp"

namespace karmad {

struct SortKey {
  enum class By : std::uint8_t { score, column, random };
  By by = By::score;
  Column column;
  bool descending = false;
  bool largest = false;  ///< of a multi-valued column: sort by its largest value
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
  std::size_t most_groups = 1000;   ///< a composite pages through no more of them
  std::vector<BucketOrder> order;
  bool keyed = false;
  std::vector<RangeBucket> ranges;
  std::vector<Grouping> sources;  ///< composite
  std::vector<Literal> after;     ///< composite: one per source, or empty
  std::vector<double> percents{1, 5, 25, 50, 75, 95, 99};
};

/// A search, from JSON or SQL.
struct SearchRequest {
  std::string table;
  Query query;
  std::vector<SortKey> sort;  ///< empty: by score, the best first
  std::size_t limit = 20;
  std::size_t offset = 0;
  std::size_t max_matches = 1000;
  std::size_t cutoff = 0;  ///< most documents to find; 0: all
  bool track_scores = false;
  Source source;
  std::optional<Highlight> highlight;
  std::vector<Aggregation> aggregations;
  bool profile = false;
  bool plan = false;
  std::vector<std::string> warnings;
};

}  // namespace karmad
