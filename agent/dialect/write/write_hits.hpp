#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/dialect/request/client_request.hpp"
#include "agent/dialect/rows/result_set.hpp"
#include "agent/dialect/rows/row_plan.hpp"
#include "agent/json/json_line.hpp"

namespace karmad {

/// What an answer in the form of a search says besides its rows.
struct HitsHead {
  Micros took{};
  bool timed_out = false;
  std::string_view warning;  ///< plain text; empty: none
  TotalFound total;
  std::string_view scroll;  ///< token of the next page; empty: none
};

/// The beginning of an answer, up to the position of the total.
void add_hits_head(JsonLine& out, const HitsHead& head);
/// The total, and the beginning of the list of hits.
void add_total(JsonLine& out, const TotalFound& total);

/// Appends an answer in the form RowForm::hits. `sets`: the rows, then the facets. `_id` is the
/// column `id`, if the client gets it, `_score` the plan's column, else 1. MVA are arrays, JSON
/// attributes their value. The key of a facet's bucket is its first column.
void append_hits(const HitsHead& head, const RowPlan& plan, std::span<const RowPlan> facets,
                 std::span<const ResultSet> sets, std::string& out);

/// The shards of a query, as an answer tells them.
struct ElasticShards {
  std::size_t total = 1;
  std::size_t successful = 1;
};

/// What an answer in the Elasticsearch-like form tells of a merged answer.
struct ElasticForm {
  bool only_count = false;
  bool hides_source = false;  ///< hits have no `_source`
  std::string index;          ///< hits name it
  /// Of each shard, where the request names several tables: hits name that of their shard.
  std::vector<std::string> tables{};
  std::string filter_path{};  ///< the parts that the client gets (append_filtered())
};

/// Appends the parts of an answer that the paths name, `{}` if it has none of them. Paths have `,`
/// between them: names with `*`, between dots, and `**` for any number of names. Without a path the
/// whole answer.
void append_filtered(std::string& out, std::string_view answer, std::string_view filter_path);

/// Appends a merged answer of `/search` in the Elasticsearch-like form: ids are strings, hits name
/// their table `index`, or the one in their member `_index`; or only the count. `answer` is one
/// that karmad has written.
void append_elastic(std::string& out, const ElasticForm& form, std::string_view answer,
                    ElasticShards shards);

}  // namespace karmad
